// com.microsoft DynamicQuantizeMatMul and MatMulIntegerToFloat: a product of bytes scaled to
// float, of bytes or of a float matrix quantized by its own range.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/dynamic_quantization.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/integer_matmul.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scale_layout.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Where the operands of an operator are among its inputs; -1 where it has none.
struct Inputs {
  int a_scale, b_scale, a_zero, b_zero, bias;
};
constexpr int kA = 0;
constexpr int kB = 1;
constexpr Inputs kDynamic = {-1, 2, -1, 3, 4};
constexpr Inputs kToFloat = {2, 3, 4, 5, 6};

absl::Status Infer(InferenceContext& context, const Inputs& inputs) {
  ASSIGN_OR_RETURN(SymbolicShape y, InferMatMulShape(context.shape(kA), context.shape(kB)));
  context.SetOutput(0, context.element_type(inputs.b_scale), std::move(y));
  return absl::OkStatus();
}
absl::Status InferDynamic(InferenceContext& context) { return Infer(context, kDynamic); }
absl::Status InferToFloat(InferenceContext& context) { return Infer(context, kToFloat); }

template <typename T>
class ScaledProductKernel final : public Kernel {
 public:
  ScaledProductKernel(IntegerMatMul product, const Inputs& inputs, int64_t quantized_elements,
                      PerLine a_scales, PerLine b_scales)
      : product_(std::move(product)),
        inputs_(inputs),
        quantized_(quantized_elements),
        a_scales_(a_scales),
        b_scales_(b_scales) {}

  // That of the product, then A as bytes where it is quantized here.
  size_t workspace_bytes() const override { return product_.workspace_bytes() + quantized_; }
  size_t held_bytes() const override { return product_.held_bytes(); }

  absl::Status Run(KernelContext& context) const override {
    IntegerMatMul::Data data;
    UnsignedQuantization dynamic;
    if (inputs_.a_scale < 0) {
      const float* x = context.input(kA).as<float>();
      uint8_t* bytes = static_cast<uint8_t*>(context.workspace()) + product_.workspace_bytes();
      dynamic = FitUnsigned(x, quantized_);
      context.threads().ParallelFor(quantized_, kElementwiseGrain, [&](int64_t begin, int64_t end) {
        QuantizeUnsigned(dynamic, x + begin, end - begin, bytes + begin);
      });
      data.a = bytes;
      data.a_zero_points = &dynamic.zero_point;
    } else {
      data.a = context.input(kA).data;
      if (context.has_input(inputs_.a_zero)) {
        data.a_zero_points = context.input(inputs_.a_zero).data;
      }
    }
    data.b = context.input(kB).data;
    if (context.has_input(inputs_.b_zero)) {
      data.b_zero_points = context.input(inputs_.b_zero).data;
    }
    const T* a_scale = inputs_.a_scale < 0 ? nullptr : context.input(inputs_.a_scale).as<T>();
    const T* b_scale = context.input(inputs_.b_scale).as<T>();
    const T* bias = context.has_input(inputs_.bias) ? context.input(inputs_.bias).as<T>() : nullptr;
    T* y = context.output(0).as<T>();
    const MatMulShape& m = product_.shape();
    product_.Run(
        context, data, context.workspace(),
        [&](int64_t product, int64_t row, int64_t column, int64_t count, const int32_t* sums) {
          const float of_a =
              a_scale == nullptr
                  ? dynamic.scale
                  : static_cast<float>(a_scale[a_scales_.index(product_.a_matrix(product), row)]);
          const int64_t b_matrix = product_.b_matrix(product);
          T* out = y + (product * m.rows + row) * m.columns + column;
          for (int64_t i = 0; i < count; ++i) {
            const float of_b = static_cast<float>(b_scale[b_scales_.index(b_matrix, column + i)]);
            float value = static_cast<float>(sums[i]) * (of_a * of_b);
            if (bias != nullptr) value += static_cast<float>(bias[column + i]);
            out[i] = static_cast<T>(value);
          }
        });
    return absl::OkStatus();
  }

 private:
  IntegerMatMul product_;
  Inputs inputs_;
  int64_t quantized_;  // elements of A quantized here, or 0
  PerLine a_scales_;
  PerLine b_scales_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec, const Inputs& inputs) {
  const bool dynamic = inputs.a_scale < 0;
  const auto optional = [&](int i) {
    return i >= 0 && spec.has_input(i) ? &spec.input(i) : nullptr;
  };
  // What A and its zero point are once quantized.
  OperandSpec bytes = spec.input(kA);
  bytes.type = ElementType::kUint8;
  bytes.constant = nullptr;
  OperandSpec scalar;
  scalar.present = true;
  scalar.type = ElementType::kUint8;
  ASSIGN_OR_RETURN(
      IntegerMatMul product,
      IntegerMatMul::Make({.values = dynamic ? &bytes : &spec.input(kA),
                           .zero_points = dynamic ? &scalar : optional(inputs.a_zero)},
                          {.values = &spec.input(kB), .zero_points = optional(inputs.b_zero)},
                          spec.threads, spec.packed_weights));
  const MatMulShape& m = product.shape();
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, m.output));
  PerLine a_scales;
  if (!dynamic) {
    ASSIGN_OR_RETURN(a_scales, ResolvePerLine("a_scale", spec.input(inputs.a_scale).shape, m.rows,
                                              product.a_matrices()));
  }
  ASSIGN_OR_RETURN(
      const PerLine b_scales,
      ResolvePerLine("b_scale", spec.input(inputs.b_scale).shape, m.columns, product.b_matrices()));
  if (const OperandSpec* bias = optional(inputs.bias);
      bias != nullptr && bias->shape.NumElements() != m.columns) {
    return absl::InvalidArgumentError(
        absl::StrCat("bias has shape ", bias->shape.ToString(), ", expected [", m.columns, "]"));
  }
  const int64_t quantized = dynamic ? spec.input(kA).shape.NumElements() : 0;
  if (spec.output(0).type == ElementType::kFloat16) {
    return std::make_unique<ScaledProductKernel<Float16>>(std::move(product), inputs, quantized,
                                                          a_scales, b_scales);
  }
  return std::make_unique<ScaledProductKernel<float>>(std::move(product), inputs, quantized,
                                                      a_scales, b_scales);
}
absl::StatusOr<std::unique_ptr<Kernel>> ReferenceDynamic(const NodeSpec& spec) {
  return Reference(spec, kDynamic);
}
absl::StatusOr<std::unique_ptr<Kernel>> ReferenceToFloat(const NodeSpec& spec) {
  return Reference(spec, kToFloat);
}

}  // namespace

void RegisterQuantizedMatMulOps(OpRegistry& registry) {
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  constexpr ElementTypeSet kReal = {ElementType::kFloat32, ElementType::kFloat16};
  registry.Register({.domain = "com.microsoft",
                     .name = "DynamicQuantizeMatMul",
                     .inputs = {{"A", "T1", kFloat},
                                {"B", "T2", kByteTypes},
                                {"b_scale", "T1", kFloat},
                                {"b_zero_point", "T2", kByteTypes, kOptional},
                                {"bias", "T1", kFloat, kOptional}},
                     .outputs = {{"Y", "T1", kFloat}},
                     .infer = InferDynamic,
                     .reference = ReferenceDynamic});
  registry.Register({.domain = "com.microsoft",
                     .name = "MatMulIntegerToFloat",
                     .inputs = {{"A", "T1", kByteTypes},
                                {"B", "T2", kByteTypes},
                                {"a_scale", "T3", kReal},
                                {"b_scale", "T3", kReal},
                                {"a_zero_point", "T1", kByteTypes, kOptional},
                                {"b_zero_point", "T2", kByteTypes, kOptional},
                                {"bias", "T3", kReal, kOptional}},
                     .outputs = {{"Y", "T3", kReal}},
                     .infer = InferToFloat,
                     .reference = ReferenceToFloat});
}

}  // namespace inferd::engine
