// QLinearMatMul: matrix product of quantized tensors with a quantized result.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/integer_matmul.h"
#include "engine/ops/integer_product.h"
#include "engine/ops/op_def.h"
#include "engine/ops/requantize.h"
#include "engine/ops/scale_layout.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input : int { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };

constexpr ElementTypeSet kBytes = {ElementType::kInt8, ElementType::kUint8};

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(SymbolicShape y, InferMatMulShape(context.shape(kA), context.shape(kB)));
  context.SetOutput(0, context.element_type(kYZero), std::move(y));
  return absl::OkStatus();
}

// Scales of both sides as floats in a workspace.
struct Scales {
  PerLine a;
  PerLine b;
  ElementType type = ElementType::kFloat32;

  size_t bytes() const { return (a.count + b.count) * sizeof(float); }
  // The scale of element [row, first_column + i] of a product is *a / y * b[i * step].
  void Load(KernelContext& context, float* memory) const {
    LoadAsFloats(type, context.input(kAScale).data, a.count, memory);
    LoadAsFloats(type, context.input(kBScale).data, b.count, memory + a.count);
  }
};

absl::StatusOr<Scales> ResolveScales(const NodeSpec& spec, const MatMulShape& m) {
  const auto matrices = [&](int input) {
    const Shape& shape = spec.input(input).shape;
    return shape.Product(0, std::max(0, shape.rank() - 2));
  };
  Scales scales;
  ASSIGN_OR_RETURN(scales.a,
                   ResolvePerLine("a_scale", spec.input(kAScale).shape, m.rows, matrices(kA)));
  ASSIGN_OR_RETURN(scales.b,
                   ResolvePerLine("b_scale", spec.input(kBScale).shape, m.columns, matrices(kB)));
  scales.type = spec.input(kAScale).type;
  return scales;
}

class QLinearMatMulKernel final : public Kernel {
 public:
  QLinearMatMulKernel(IntegerMatMul product, const Scales& scales, ElementType y_type)
      : product_(std::move(product)), scales_(scales), y_type_(y_type) {}

  // That of the product, then the scales.
  size_t workspace_bytes() const override { return product_.workspace_bytes() + scales_.bytes(); }
  size_t held_bytes() const override { return product_.held_bytes(); }

  absl::Status Run(KernelContext& context) const override {
    float* a_scales = reinterpret_cast<float*>(static_cast<char*>(context.workspace()) +
                                               product_.workspace_bytes());
    float* b_scales = a_scales + scales_.a.count;
    scales_.Load(context, a_scales);
    float y_scale;
    LoadAsFloats(scales_.type, context.input(kYScale).data, 1, &y_scale);
    const int y_zero_point = LoadByte(y_type_, context.input(kYZero).data, 0);
    void* y = context.output(0).data;
    const MatMulShape& m = product_.shape();
    product_.Run(
        context,
        {.a = context.input(kA).data,
         .a_zero_points = context.input(kAZero).data,
         .b = context.input(kB).data,
         .b_zero_points = context.input(kBZero).data},
        context.workspace(),
        [&](int64_t product, int64_t row, int64_t column, int64_t count, const int32_t* sums) {
          const float a_scale = a_scales[scales_.a.index(product_.a_matrix(product), row)];
          const int64_t at = (product * m.rows + row) * m.columns + column;
          const int64_t b_matrix = product_.b_matrix(product);
          constexpr int64_t kChunk = 64;
          for (int64_t first = 0; first < count; first += kChunk) {
            const int64_t n = std::min(kChunk, count - first);
            float scale[kChunk];
            for (int64_t i = 0; i < n; ++i) {
              scale[i] =
                  a_scale * b_scales[scales_.b.index(b_matrix, column + first + i)] / y_scale;
            }
            RequantizeRow(y_type_, sums + first, n, 0, scale, 1, y_zero_point, y, at + first, 1);
          }
        });
    return absl::OkStatus();
  }

 private:
  IntegerMatMul product_;
  Scales scales_;
  ElementType y_type_;
};

// 8-bit floats, and mixtures of them with integers: sums of doubles.
class FloatQLinearMatMulKernel final : public Kernel {
 public:
  FloatQLinearMatMulKernel(const NodeSpec& spec, MatMulShape shape, const Scales& scales,
                           const PerLine& a_zero_points, const PerLine& b_zero_points)
      : shape_(std::move(shape)),
        scales_(scales),
        a_zero_points_(a_zero_points),
        b_zero_points_(b_zero_points),
        a_type_(spec.input(kA).type),
        b_type_(spec.input(kB).type),
        y_type_(spec.output(0).type) {}

  size_t workspace_bytes() const override { return scales_.bytes(); }

  absl::Status Run(KernelContext& context) const override {
    float* a_scales = static_cast<float*>(context.workspace());
    float* b_scales = a_scales + scales_.a.count;
    scales_.Load(context, a_scales);
    const void* a = context.input(kA).data;
    const void* b = context.input(kB).data;
    const double y_scale = LoadAsDouble(scales_.type, context.input(kYScale).data, 0);
    const double y_zero = LoadAsDouble(y_type_, context.input(kYZero).data, 0);
    const StoreFn store =
        ElementStorer(IsInteger(y_type_) ? WideType::kInt64 : WideType::kFloat, y_type_);
    const MatMulShape& m = shape_;
    context.threads().ParallelFor(m.batch_size() * m.rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t product = r / m.rows;
        const int64_t row = r % m.rows;
        const int64_t a_matrix = MatrixOf(m.a_offset(product), m.rows);
        const int64_t b_matrix = MatrixOf(m.b_offset(product), m.columns);
        const double a_zero =
            LoadAsDouble(a_type_, context.input(kAZero).data, a_zero_points_.index(a_matrix, row));
        for (int64_t j = 0; j < m.columns; ++j) {
          const double b_zero =
              LoadAsDouble(b_type_, context.input(kBZero).data, b_zero_points_.index(b_matrix, j));
          double sum = 0;
          for (int64_t k = 0; k < m.inner; ++k) {
            sum += (LoadAsDouble(a_type_, a, m.a_offset(product) + row * m.inner + k) - a_zero) *
                   (LoadAsDouble(b_type_, b, m.b_offset(product) + k * m.columns + j) - b_zero);
          }
          const double scale = double{a_scales[scales_.a.index(a_matrix, row)]} *
                               double{b_scales[scales_.b.index(b_matrix, j)]} / y_scale;
          const float value = DoubleToFloatRoundToOdd(sum * scale);
          WideBlock block;
          if (IsInteger(y_type_)) {
            block.i[0] = static_cast<int64_t>(
                RoundAndSaturate(value, static_cast<float>(y_zero), RangeOf(y_type_)));
          } else {
            block.f[0] = value + static_cast<float>(y_zero);
          }
          store(block, {}, context.output(0).data, r * m.columns + j, 1);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t MatrixOf(int64_t offset, int64_t lines) const {
    const int64_t size = lines * shape_.inner;
    return size == 0 ? 0 : offset / size;
  }

  MatMulShape shape_;
  Scales scales_;
  PerLine a_zero_points_;
  PerLine b_zero_points_;
  ElementType a_type_;
  ElementType b_type_;
  ElementType y_type_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(MatMulShape m, ResolveMatMul(spec.input(kA).shape, spec.input(kB).shape));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, m.output));
  ASSIGN_OR_RETURN(const Scales scales, ResolveScales(spec, m));
  for (const int i : {kYScale, kYZero}) {
    if (spec.input(i).shape.NumElements() != 1) {
      return absl::UnimplementedError(
          absl::StrCat("QLinearMatMul: ", i == kYScale ? "y_scale" : "y_zero_point", " of shape ",
                       spec.input(i).shape.ToString(),
                       "; only one for the whole result has a "
                       "kernel"));
    }
  }
  const ElementType y_type = spec.output(0).type;
  if (kBytes.contains(spec.input(kA).type) && kBytes.contains(spec.input(kB).type) &&
      kBytes.contains(y_type)) {
    ASSIGN_OR_RETURN(
        IntegerMatMul product,
        IntegerMatMul::Make({.values = &spec.input(kA), .zero_points = &spec.input(kAZero)},
                            {.values = &spec.input(kB), .zero_points = &spec.input(kBZero)},
                            spec.threads, spec.packed_weights));
    return std::make_unique<QLinearMatMulKernel>(std::move(product), scales, y_type);
  }
  const auto matrices = [&](int input) {
    const Shape& shape = spec.input(input).shape;
    return shape.Product(0, std::max(0, shape.rank() - 2));
  };
  ASSIGN_OR_RETURN(const PerLine a_zero,
                   ResolvePerLine("a_zero_point", spec.input(kAZero).shape, m.rows, matrices(kA)));
  ASSIGN_OR_RETURN(const PerLine b_zero, ResolvePerLine("b_zero_point", spec.input(kBZero).shape,
                                                        m.columns, matrices(kB)));
  return std::make_unique<FloatQLinearMatMulKernel>(spec, std::move(m), scales, a_zero, b_zero);
}

}  // namespace

void RegisterQLinearMatMulOps(OpRegistry& registry) {
  constexpr ElementTypeSet kOperands = kBytes | type_sets::kFloat8s;
  constexpr ElementTypeSet kScaleTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                          ElementType::kBfloat16};
  registry.Register({.name = "QLinearMatMul",
                     .version = 21,
                     .oldest_version = 10,
                     .inputs = {{"a", "T1", kOperands},
                                {"a_scale", "TS", kScaleTypes},
                                {"a_zero_point", "T1", kOperands},
                                {"b", "T2", kOperands},
                                {"b_scale", "TS", kScaleTypes},
                                {"b_zero_point", "T2", kOperands},
                                {"y_scale", "TS", kScaleTypes},
                                {"y_zero_point", "T3", kOperands}},
                     .outputs = {{"y", "T3", kOperands}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
