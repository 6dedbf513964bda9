// com.microsoft QLinearConv: the standard's, with channels first or last.
#include "engine/ops/all_ops.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/q_linear_conv.h"

namespace inferd::engine {

void RegisterMicrosoftQLinearConvOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "QLinearConv",
       .inputs = {{"x", "T1", kByteTypes},
                  {"x_scale", "", kFloat},
                  {"x_zero_point", "T1", kByteTypes},
                  {"w", "T2", kByteTypes},
                  {"w_scale", "", kFloat},
                  {"w_zero_point", "T2", kByteTypes},
                  {"y_scale", "", kFloat},
                  {"y_zero_point", "T3", kByteTypes},
                  {"B", "T4", {ElementType::kInt32}, FormalParameter::Option::kOptional}},
       .outputs = {{"y", "T3", kByteTypes}},
       .attributes = {{"auto_pad", Kind::kString},
                      {"channels_last", Kind::kInt},
                      {"dilations", Kind::kInts},
                      {"group", Kind::kInt},
                      {"kernel_shape", Kind::kInts},
                      {"pads", Kind::kInts},
                      {"strides", Kind::kInts}},
       .infer = InferQLinearConv,
       .reference = QLinearConvReference});
}

}  // namespace inferd::engine
