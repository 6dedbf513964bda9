// com.microsoft.MatMulBnb4: A times a matrix of 4-bit codes as bitsandbytes writes them: the
// matrix, N rows of K weights, is one long row cut into blocks with a scale each; a byte holds two
// codes, the first in its high half.
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/block_quantized.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kA, kB, kAbsMax };

// 4-bit floats with 3 bits of exponent and mantissa, and the sign on top.
constexpr float kFp4[16] = {0.0f,      1.0f / 192, 2.0f / 3,  1.0f,        1.0f / 3,  0.5f,
                            1.0f / 6,  0.25f,      -0.0f,     -1.0f / 192, -2.0f / 3, -1.0f,
                            -1.0f / 3, -0.5f,      -1.0f / 6, -0.25f};
// The NormalFloat type of "QLoRA: Efficient Finetuning of Quantized LLMs", appendix E.
constexpr float kNf4[16] = {-1.0f,
                            -0.6961928009986877f,
                            -0.5250730514526367f,
                            -0.39491748809814453f,
                            -0.28444138169288635f,
                            -0.18477343022823334f,
                            -0.09105003625154495f,
                            0.0f,
                            0.07958029955625534f,
                            0.16093020141124725f,
                            0.24611230194568634f,
                            0.33791524171829224f,
                            0.44070982933044434f,
                            0.5626170039176941f,
                            0.7229568362236023f,
                            1.0f};

struct Weights {
  int64_t k, n, block;
  bool transposed;  // the product is with the transpose of the matrix, the usual case
  const float* codes;
  int64_t inner() const { return transposed ? k : n; }
  int64_t columns() const { return transposed ? n : k; }
};

absl::StatusOr<Weights> WeightsOf(const Attributes& attributes) {
  const int64_t type = attributes.GetInt("quant_type", 0);
  if (type != 0 && type != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute quant_type is ", type, ", expected 0 (FP4) or 1 (NF4)"));
  }
  const Weights w = {attributes.GetInt("K", 0), attributes.GetInt("N", 0),
                     attributes.GetInt("block_size", 0), attributes.GetInt("transB", 1) != 0,
                     type == 0 ? kFp4 : kNf4};
  if (w.k < 1 || w.n < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attributes K and N are ", w.k, " and ", w.n, ", expected positive numbers"));
  }
  RETURN_IF_ERROR(CheckBlockQuantization(4, w.block));
  return w;
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const Weights w, WeightsOf(context.attributes()));
  RETURN_IF_ERROR(ExpectRank(context, kA, 1));
  const SymbolicShape& a = context.shape(kA);
  if (!a.has_rank()) {
    context.SetOutput(0, context.element_type(kA), {});
    return absl::OkStatus();
  }
  const Dim& inner = a[a.rank() - 1];
  if (inner.known() && inner.value() != w.inner()) {
    return absl::InvalidArgumentError(
        absl::StrCat("A has shape ", a.ToString(), ", expected a last dimension of ", w.inner()));
  }
  SymbolicShape y = a;
  y[a.rank() - 1] = w.columns();
  context.SetOutput(0, context.element_type(kA), std::move(y));
  return absl::OkStatus();
}

template <typename T>
absl::Status Run(const Weights& w, int64_t rows, KernelContext& context) {
  const uint8_t* codes = context.input(kB).as<uint8_t>();
  const T* scales = context.input(kAbsMax).as<T>();
  const auto weight = [&](int64_t i) {
    const int code = i % 2 == 0 ? codes[i / 2] >> 4 : codes[i / 2] & 15;
    return w.codes[code] * static_cast<float>(scales[i / w.block]);
  };
  const int64_t inner = w.inner(), columns = w.columns();
  context.threads().ParallelFor(columns, 4, [&](int64_t begin, int64_t end) {
    constexpr int64_t kRows = 16;
    for (int64_t j = begin; j < end; ++j) {
      for (int64_t first = 0; first < rows; first += kRows) {
        const int64_t count = std::min(kRows, rows - first);
        float sums[kRows] = {};
        for (int64_t i = 0; i < inner; ++i) {
          const float b = w.transposed ? weight(j * w.k + i) : weight(i * w.k + j);
          const T* a = context.input(kA).as<T>() + first * inner + i;
          for (int64_t r = 0; r < count; ++r) sums[r] += static_cast<float>(a[r * inner]) * b;
        }
        T* y = context.output(0).as<T>() + first * columns + j;
        for (int64_t r = 0; r < count; ++r) y[r * columns] = static_cast<T>(sums[r]);
      }
    }
  });
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const Weights w, WeightsOf(spec.attributes()));
  int64_t count = 0;
  if (__builtin_mul_overflow(w.k, w.n, &count)) {
    return absl::InvalidArgumentError("attributes K and N are too large");
  }
  const int64_t bytes = count / 2 + count % 2;
  const int64_t blocks = count / w.block + (count % w.block != 0);
  if (spec.input(kB).shape.NumElements() != bytes ||
      spec.input(kAbsMax).shape.NumElements() != blocks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "inputs B and absmax have shapes ", spec.input(kB).shape.ToString(), " and ",
        spec.input(kAbsMax).shape.ToString(), ", expected ", bytes, " and ", blocks, " elements"));
  }
  const int64_t rows = spec.input(kA).shape.Product(0, spec.input(kA).shape.rank() - 1);
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(spec.input(kA).type, [&]<typename T>() {
        kernel = MakeKernel([w, rows](KernelContext& context) { return Run<T>(w, rows, context); });
      })) {
    return UnsupportedType(spec, spec.input(kA).type);
  }
  return kernel;
}

}  // namespace

void RegisterMatMulBnb4Ops(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  registry.Register({.domain = "com.microsoft",
                     .name = "MatMulBnb4",
                     .inputs = {RequiredParameter("A", "T1", kTypes),
                                RequiredParameter("B", "", {ElementType::kUint8}),
                                RequiredParameter("absmax", "T1", kTypes)},
                     .outputs = {RequiredParameter("Y", "T1", kTypes)},
                     .attributes = {{"K", Kind::kInt, true},
                                    {"N", Kind::kInt, true},
                                    {"block_size", Kind::kInt, true},
                                    {"quant_type", Kind::kInt, true},
                                    {"training_mode", Kind::kInt},
                                    {"transB", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
