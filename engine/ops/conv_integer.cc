// ConvInteger: convolution of 8-bit integers, without scales.
#include <algorithm>
#include <memory>
#include <utility>

#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/integer_convolution.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(SymbolicShape y, InferIntegerConvolution(context, {}));
  context.SetOutput(0, ElementType::kInt32, std::move(y));
  return absl::OkStatus();
}

class ConvIntegerKernel final : public Kernel {
 public:
  explicit ConvIntegerKernel(IntegerConvolution convolution)
      : convolution_(std::move(convolution)), channels_(convolution_.shape().output_channels()) {
    const Shape y = convolution_.shape().OutputShape();
    positions_ = y.Product(2, y.rank());
  }

  absl::Status Run(KernelContext& context) const override {
    int32_t* y = context.output(0).as<int32_t>();
    convolution_.Run(
        context, context.workspace(),
        [&](int64_t image, int64_t channel, int64_t first, int64_t count, const int32_t* sums) {
          std::copy_n(sums, count, y + (image * channels_ + channel) * positions_ + first);
        });
    return absl::OkStatus();
  }
  size_t workspace_bytes() const override { return convolution_.workspace_bytes(); }
  size_t held_bytes() const override { return convolution_.held_bytes(); }

 private:
  IntegerConvolution convolution_;
  int64_t channels_;
  int64_t positions_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(IntegerConvolution convolution, IntegerConvolution::Make(spec, {}));
  return std::make_unique<ConvIntegerKernel>(std::move(convolution));
}

}  // namespace

void RegisterConvIntegerOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kBytes = {ElementType::kInt8, ElementType::kUint8};
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  registry.Register({.name = "ConvInteger",
                     .version = 10,
                     .oldest_version = 10,
                     .inputs = {{"x", "T1", kBytes},
                                {"w", "T2", kBytes},
                                {"x_zero_point", "T1", kBytes, kOptional},
                                {"w_zero_point", "T2", kBytes, kOptional}},
                     .outputs = {{"y", "T3", {ElementType::kInt32}}},
                     .attributes = {{"auto_pad", Kind::kString},
                                    {"dilations", Kind::kInts},
                                    {"group", Kind::kInt},
                                    {"kernel_shape", Kind::kInts},
                                    {"pads", Kind::kInts},
                                    {"strides", Kind::kInts}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
