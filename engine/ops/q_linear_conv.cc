// QLinearConv: convolution of quantized tensors with a quantized result.
#include "engine/ops/q_linear_conv.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/integer_convolution.h"
#include "engine/ops/integer_product.h"
#include "engine/ops/op_def.h"
#include "engine/ops/requantize.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input : int { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };

IntegerConvolutionInputs InputsOf(const Attributes& attributes) {
  return {.x = kX,
          .x_zero_point = kXZero,
          .w = kW,
          .w_zero_point = kWZero,
          .channels_last = attributes.GetInt("channels_last", 0) != 0};
}

absl::Status CheckCount(const NodeSpec& spec, int input, absl::string_view name, int64_t other) {
  const int64_t count = spec.has_input(input) ? spec.input(input).shape.NumElements() : 1;
  if (count == 1 || count == other) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", name, " has ", count,
                                                 " elements, expected ",
                                                 other == 1 ? "1" : absl::StrCat("1 or ", other)));
}

class QLinearConvKernel final : public Kernel {
 public:
  QLinearConvKernel(IntegerConvolution convolution, const NodeSpec& spec)
      : convolution_(std::move(convolution)),
        y_type_(spec.output(0).type),
        channels_last_(InputsOf(spec.attributes()).channels_last),
        w_scales_(spec.input(kWScale).shape.NumElements()),
        channels_(convolution_.shape().output_channels()) {
    const Shape y = convolution_.shape().OutputShape();
    positions_ = y.Product(2, y.rank());
  }

  // That of the convolution, then one scale per channel.
  size_t workspace_bytes() const override {
    return convolution_.workspace_bytes() + channels_ * sizeof(float);
  }
  size_t held_bytes() const override { return convolution_.held_bytes(); }

  absl::Status Run(KernelContext& context) const override {
    char* workspace = static_cast<char*>(context.workspace());
    float* scales = reinterpret_cast<float*>(workspace + convolution_.workspace_bytes());
    const float x_scale = *context.input(kXScale).as<float>();
    const float y_scale = *context.input(kYScale).as<float>();
    const float* w_scale = context.input(kWScale).as<float>();
    for (int64_t i = 0; i < channels_; ++i) {
      scales[i] = x_scale * w_scale[w_scales_ == 1 ? 0 : i] / y_scale;
    }
    const int32_t* bias = context.has_input(kBias) ? context.input(kBias).as<int32_t>() : nullptr;
    const int y_zero_point =
        context.has_input(kYZero) ? LoadByte(y_type_, context.input(kYZero).data, 0) : 0;
    void* y = context.output(0).data;
    convolution_.Run(
        context, workspace,
        [&](int64_t image, int64_t channel, int64_t first, int64_t count, const int32_t* sums) {
          const int64_t at = channels_last_ ? (image * positions_ + first) * channels_ + channel
                                            : (image * channels_ + channel) * positions_ + first;
          RequantizeRow(y_type_, sums, count, bias == nullptr ? 0 : bias[channel], scales + channel,
                        0, y_zero_point, y, at, channels_last_ ? channels_ : 1);
        });
    return absl::OkStatus();
  }

 private:
  IntegerConvolution convolution_;
  ElementType y_type_;
  bool channels_last_;
  int64_t w_scales_;
  int64_t channels_;
  int64_t positions_;
};

}  // namespace

absl::Status InferQLinearConv(InferenceContext& context) {
  ASSIGN_OR_RETURN(SymbolicShape y,
                   InferIntegerConvolution(context, InputsOf(context.attributes())));
  const ElementType type =
      context.has_input(kYZero) ? context.element_type(kYZero) : context.element_type(kX);
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> QLinearConvReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(IntegerConvolution convolution,
                   IntegerConvolution::Make(spec, InputsOf(spec.attributes())));
  const int64_t channels = convolution.shape().output_channels();
  RETURN_IF_ERROR(CheckCount(spec, kXScale, "x_scale", 1));
  RETURN_IF_ERROR(CheckCount(spec, kWScale, "w_scale", channels));
  RETURN_IF_ERROR(CheckCount(spec, kYScale, "y_scale", 1));
  RETURN_IF_ERROR(CheckCount(spec, kYZero, "y_zero_point", 1));
  if (spec.has_input(kBias) && spec.input(kBias).shape.NumElements() != channels) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input B has shape ", spec.input(kBias).shape.ToString(), ", expected [", channels, "]"));
  }
  return std::make_unique<QLinearConvKernel>(std::move(convolution), spec);
}

void RegisterQLinearConvOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kBytes = {ElementType::kInt8, ElementType::kUint8};
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  registry.Register(
      {.name = "QLinearConv",
       .version = 10,
       .oldest_version = 10,
       .inputs = {{"x", "T1", kBytes},
                  {"x_scale", "", kFloat},
                  {"x_zero_point", "T1", kBytes},
                  {"w", "T2", kBytes},
                  {"w_scale", "", kFloat},
                  {"w_zero_point", "T2", kBytes},
                  {"y_scale", "", kFloat},
                  {"y_zero_point", "T3", kBytes},
                  {"B", "T4", {ElementType::kInt32}, FormalParameter::Option::kOptional}},
       .outputs = {{"y", "T3", kBytes}},
       .attributes = {{"auto_pad", Kind::kString},
                      {"dilations", Kind::kInts},
                      {"group", Kind::kInt},
                      {"kernel_shape", Kind::kInts},
                      {"pads", Kind::kInts},
                      {"strides", Kind::kInts}},
       .infer = InferQLinearConv,
       .reference = QLinearConvReference});
}

}  // namespace inferd::engine
