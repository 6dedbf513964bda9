// com.microsoft QGemm: alpha * op(A) * op(B) + C of quantized matrices, with a quantized or a
// float result.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/integer_matmul.h"
#include "engine/ops/integer_product.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/requantize.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input : int { kA, kAScale, kAZero, kB, kBScale, kBZero, kC, kYScale, kYZero };

SymbolicShape Matrix(const SymbolicShape& shape, bool transposed) {
  SymbolicShape matrix = shape.has_rank() ? shape : SymbolicShape::OfRank(2);
  if (transposed) std::swap(matrix[0], matrix[1]);
  return matrix;
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, kA, 2, 2));
  RETURN_IF_ERROR(ExpectRank(context, kB, 2, 2));
  const Attributes& attributes = context.attributes();
  ASSIGN_OR_RETURN(
      SymbolicShape y,
      InferMatMulShape(Matrix(context.shape(kA), attributes.GetInt("transA", 0) != 0),
                       Matrix(context.shape(kB), attributes.GetInt("transB", 0) != 0)));
  context.SetOutput(
      0, context.has_input(kYZero) ? context.element_type(kYZero) : ElementType::kFloat32,
      std::move(y));
  return absl::OkStatus();
}

class QGemmKernel final : public Kernel {
 public:
  QGemmKernel(IntegerMatMul product, const NodeSpec& spec, PerLine b_scales)
      : product_(std::move(product)),
        b_scales_(b_scales),
        alpha_(spec.attributes().GetFloat("alpha", 1)),
        y_type_(spec.output(0).type) {
    if (spec.has_input(kC)) {
      const Shape& c = spec.input(kC).shape;
      const int64_t columns = c.rank() >= 1 ? c[c.rank() - 1] : 1;
      const int64_t rows = c.rank() >= 2 ? c[c.rank() - 2] : 1;
      c_column_ = columns == 1 ? 0 : 1;
      c_row_ = rows == 1 ? 0 : columns;
    }
  }

  // That of the product, then one scale per column.
  size_t workspace_bytes() const override {
    return product_.workspace_bytes() + product_.shape().columns * sizeof(float);
  }
  size_t held_bytes() const override { return product_.held_bytes(); }

  absl::Status Run(KernelContext& context) const override {
    const MatMulShape& m = product_.shape();
    float* scales = reinterpret_cast<float*>(static_cast<char*>(context.workspace()) +
                                             product_.workspace_bytes());
    const bool quantized = context.has_input(kYScale);
    const float a_scale = *context.input(kAScale).as<float>();
    const float* b_scale = context.input(kBScale).as<float>();
    const float y_scale = quantized ? *context.input(kYScale).as<float>() : 1;
    for (int64_t j = 0; j < m.columns; ++j) {
      scales[j] = alpha_ * a_scale * b_scale[b_scales_.index(0, j)];
      if (quantized) scales[j] /= y_scale;
    }
    const int y_zero = quantized && context.has_input(kYZero)
                           ? LoadByte(y_type_, context.input(kYZero).data, 0)
                           : 0;
    const int32_t* c = context.has_input(kC) ? context.input(kC).as<int32_t>() : nullptr;
    product_.Run(context,
                 {.a = context.input(kA).data,
                  .a_zero_points = context.input(kAZero).data,
                  .b = context.input(kB).data,
                  .b_zero_points = context.input(kBZero).data},
                 context.workspace(),
                 [&](int64_t, int64_t row, int64_t column, int64_t count, const int32_t* sums) {
                   constexpr int64_t kChunk = 64;
                   for (int64_t first = 0; first < count; first += kChunk) {
                     const int64_t n = std::min(kChunk, count - first);
                     int32_t biased[kChunk];
                     for (int64_t i = 0; i < n; ++i) {
                       const int32_t added =
                           c == nullptr ? 0 : c[row * c_row_ + (column + first + i) * c_column_];
                       biased[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[first + i]) +
                                                        static_cast<uint32_t>(added));
                     }
                     const float* scale = scales + column + first;
                     const int64_t at = row * m.columns + column + first;
                     if (y_type_ == ElementType::kFloat32) {
                       float* y = context.output(0).as<float>() + at;
                       for (int64_t i = 0; i < n; ++i)
                         y[i] = static_cast<float>(biased[i]) * scale[i];
                     } else {
                       RequantizeRow(y_type_, biased, n, 0, scale, 1, y_zero,
                                     context.output(0).data, at, 1);
                     }
                   }
                 });
    return absl::OkStatus();
  }

 private:
  IntegerMatMul product_;
  PerLine b_scales_;
  float alpha_;
  ElementType y_type_;
  int64_t c_row_ = 0;     // between rows of C; 0 where it is repeated
  int64_t c_column_ = 0;  // between columns of C
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  RETURN_IF_ERROR(ExpectOneElement(spec, {kAScale, kAZero, kYScale, kYZero}));
  if (spec.has_input(kYScale) != spec.has_input(kYZero)) {
    return absl::InvalidArgumentError(
        "y_scale and y_zero_point must be both present, for a quantized result, or both absent");
  }
  ASSIGN_OR_RETURN(IntegerMatMul product,
                   IntegerMatMul::Make({.values = &spec.input(kA),
                                        .zero_points = &spec.input(kAZero),
                                        .transposed = spec.attributes().GetInt("transA", 0) != 0},
                                       {.values = &spec.input(kB),
                                        .zero_points = &spec.input(kBZero),
                                        .transposed = spec.attributes().GetInt("transB", 0) != 0},
                                       spec.threads, spec.packed_weights));
  const MatMulShape& m = product.shape();
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, m.output));
  if (spec.has_input(kC)) {
    const Shape& c = spec.input(kC).shape;
    absl::StatusOr<Shape> broadcast = BroadcastShapes(c, m.output);
    if (!broadcast.ok() || *broadcast != m.output) {
      return absl::InvalidArgumentError(absl::StrCat(
          "C has shape ", c.ToString(), ", which does not broadcast to ", m.output.ToString()));
    }
  }
  ASSIGN_OR_RETURN(const PerLine b_scales,
                   ResolvePerLine("b_scale", spec.input(kBScale).shape, m.columns, 1));
  return std::make_unique<QGemmKernel>(std::move(product), spec, b_scales);
}

}  // namespace

void RegisterQGemmOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "QGemm",
       .inputs = {{"A", "TA", kByteTypes},
                  {"a_scale", "", kFloat},
                  {"a_zero_point", "TA", kByteTypes},
                  {"B", "TB", kByteTypes},
                  {"b_scale", "", kFloat},
                  {"b_zero_point", "TB", kByteTypes},
                  {"C", "", {ElementType::kInt32}, kOptional},
                  {"y_scale", "", kFloat, kOptional},
                  {"y_zero_point", "", kByteTypes, kOptional}},
       .outputs = {{"Y", "", kByteTypes | kFloat}},
       .attributes = {{"alpha", Kind::kFloat}, {"transA", Kind::kInt}, {"transB", Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
