// LRN: local response normalization across channels
// (https://papers.nips.cc/paper/4824, section 3.3):
//   y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels)^beta
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferLrn(InferenceContext& context) {
  const int64_t size = context.attributes().GetInt("size", 0);
  if (size < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute size is ", size, ", expected a positive number of channels"));
  }
  RETURN_IF_ERROR(ExpectRank(context, 0, 2));
  return InferSameAsInput(context);
}

absl::StatusOr<std::unique_ptr<Kernel>> LrnReference(const NodeSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  const int64_t batch = shape[0], channels = shape[1];
  const int64_t spatial = shape.Product(2, shape.rank());
  const int64_t size = spec.attributes().GetInt("size", 1);
  const double alpha = spec.attributes().GetFloat("alpha", 1e-4f) / static_cast<double>(size);
  const double beta = spec.attributes().GetFloat("beta", 0.75f);
  const double bias = spec.attributes().GetFloat("bias", 1.0f);
  // The window is lopsided for an even size: one channel more after than before.
  const int64_t before = std::min((size - 1) / 2, channels);
  const int64_t after = std::min(size / 2, channels);
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
        kernel = MakeKernel([=](KernelContext& context) {
          using Compute = ComputeType<T>;
          const T* x = context.input(0).as<T>();
          T* y = context.output(0).as<T>();
          context.threads().ParallelFor(batch * channels, 1, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
              const int64_t c = row % channels;
              const int64_t first = std::max<int64_t>(0, c - before);
              const int64_t last = std::min(channels - 1, c + after);
              for (int64_t i = 0; i < spatial; ++i) {
                double square = 0;
                for (int64_t k = first; k <= last; ++k) {
                  const double v = static_cast<Compute>(x[(row - c + k) * spatial + i]);
                  square += v * v;
                }
                const double v = static_cast<Compute>(x[row * spatial + i]);
                const double out = v / std::pow(bias + alpha * square, beta);
                y[row * spatial + i] = static_cast<T>(static_cast<Compute>(out));
              }
            }
          });
          return absl::OkStatus();
        });
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterLrnOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  OpDef def;
  def.name = "LRN";
  def.version = 13;
  def.inputs = {RequiredParameter("X", "T", type_sets::kFloats)};
  def.outputs = {RequiredParameter("Y", "T", type_sets::kFloats)};
  def.attributes = {{"size", Kind::kInt, true},
                    {"alpha", Kind::kFloat},
                    {"beta", Kind::kFloat},
                    {"bias", Kind::kFloat}};
  def.infer = InferLrn;
  def.reference = LrnReference;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
