// com.microsoft QuantizeLinear and DequantizeLinear: those of the standard for 16-bit and 4-bit
// types before it had them.
#include "engine/ops/linear_quantization.h"

#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

void RegisterMicrosoftLinearQuantizationOps(OpRegistry& registry) {
  using enum ElementType;
  using Kind = AttributeSpec::Kind;
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  constexpr ElementTypeSet kReal = {kFloat32, kFloat16};
  constexpr ElementTypeSet kQuantized = {kInt8, kUint8, kInt16, kUint16, kInt4, kUint4};
  constexpr ElementTypeSet kDequantizable = kQuantized | ElementTypeSet{kInt32};
  registry.Register({.domain = "com.microsoft",
                     .name = "QuantizeLinear",
                     .inputs = {{"x", "T1", kReal},
                                {"y_scale", "T1", kReal},
                                {"y_zero_point", "T2", kQuantized, kOptional}},
                     .outputs = {{"y", "T2", kQuantized}},
                     .attributes = {{"axis", Kind::kInt}},
                     .infer = InferQuantizeLinear,
                     .reference = QuantizeLinearReference});
  registry.Register({.domain = "com.microsoft",
                     .name = "DequantizeLinear",
                     .inputs = {{"x", "T1", kDequantizable},
                                {"x_scale", "T2", kReal},
                                {"x_zero_point", "T1", kDequantizable, kOptional}},
                     .outputs = {{"y", "T2", kReal}},
                     .attributes = {{"axis", Kind::kInt}},
                     .infer = InferDequantizeLinear,
                     .reference = DequantizeLinearReference});
}

}  // namespace inferd::engine
