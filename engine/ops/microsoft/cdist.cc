// com.microsoft.CDist: the distance between every row of A and every row of B.
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<bool> WantsRoot(const Attributes& attributes) {
  const std::string metric = attributes.GetString("metric", "sqeuclidean");
  if (metric == "sqeuclidean") return false;
  if (metric == "euclidean") return true;
  return absl::UnimplementedError(
      absl::StrCat("metric \"", metric, "\" is not supported; euclidean and sqeuclidean are"));
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(WantsRoot(context.attributes()).status());
  SymbolicShape shapes[2];
  for (int i = 0; i < 2; ++i) {
    RETURN_IF_ERROR(ExpectRank(context, i, 2, 2));
    shapes[i] = context.shape(i).has_rank() ? context.shape(i) : SymbolicShape::OfRank(2);
  }
  const Dim &a = shapes[0][1], &b = shapes[1][1];
  if (a.known() && b.known() && a.value() != b.value()) {
    return absl::InvalidArgumentError(absl::StrCat("A has shape ", shapes[0].ToString(), " and B ",
                                                   shapes[1].ToString(),
                                                   ", expected rows of equal length"));
  }
  context.SetOutput(0, context.element_type(0), SymbolicShape({shapes[0][0], shapes[1][0]}));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const bool root, WantsRoot(spec.attributes()));
  const int64_t rows = spec.input(0).shape[0], columns = spec.input(1).shape[0];
  const int64_t length = spec.input(0).shape[1];
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape{rows, columns}));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double>(spec.input(0).type, [&]<typename T>() {
    kernel = MakeKernel([=](KernelContext& context) {
      context.threads().ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const T* a = context.input(0).as<T>() + r * length;
          const T* b = context.input(1).as<T>();
          T* y = context.output(0).as<T>() + r * columns;
          for (int64_t c = 0; c < columns; ++c, b += length) {
            // Lanes of their own, for the compiler to vectorize the sum.
            T sums[8] = {};
            int64_t i = 0;
            for (; i + 8 <= length; i += 8) {
              for (int l = 0; l < 8; ++l) {
                const T d = a[i + l] - b[i + l];
                sums[l] += d * d;
              }
            }
            double sum = 0;
            for (const T s : sums) sum += s;
            for (; i < length; ++i) {
              const double d = a[i] - b[i];
              sum += d * d;
            }
            y[c] = static_cast<T>(root ? std::sqrt(sum) : sum);
          }
        }
      });
      return absl::OkStatus();
    });
  });
  return kernel;
}

}  // namespace

void RegisterCDistOps(OpRegistry& registry) {
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat64};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "CDist",
       .inputs = {RequiredParameter("A", "T", kTypes), RequiredParameter("B", "T", kTypes)},
       .outputs = {RequiredParameter("C", "T", kTypes)},
       .attributes = {{"metric", AttributeSpec::Kind::kString}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
