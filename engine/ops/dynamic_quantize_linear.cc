// DynamicQuantizeLinear: to uint8 with the scale and zero point that fit the data.
#include <algorithm>
#include <memory>

#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/dynamic_quantization.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  context.SetOutput(0, ElementType::kUint8, context.shape(0));
  context.SetOutput(1, ElementType::kFloat32, Shape{});
  context.SetOutput(2, ElementType::kUint8, Shape{});
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const int64_t elements = spec.input(0).shape.NumElements();
  return MakeKernel([elements](KernelContext& context) {
    const float* x = context.input(0).as<float>();
    const UnsignedQuantization q = FitUnsigned(x, elements);
    if (context.has_output(0)) {
      uint8_t* y = context.output(0).as<uint8_t>();
      context.threads().ParallelFor(elements, kElementwiseGrain, [&](int64_t begin, int64_t end) {
        QuantizeUnsigned(q, x + begin, end - begin, y + begin);
      });
    }
    if (context.has_output(1)) *context.output(1).as<float>() = q.scale;
    if (context.has_output(2)) *context.output(2).as<uint8_t>() = q.zero_point;
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterDynamicQuantizeLinearOps(OpRegistry& registry) {
  registry.Register({.name = "DynamicQuantizeLinear",
                     .version = 11,
                     .oldest_version = 11,
                     .inputs = {{"x", "T1", {ElementType::kFloat32}}},
                     .outputs = {{"y", "T2", {ElementType::kUint8}},
                                 {"y_scale", "", {ElementType::kFloat32}},
                                 {"y_zero_point", "T2", {ElementType::kUint8}}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
