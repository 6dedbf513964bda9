// com.microsoft QLinearLeakyRelu and QLinearSigmoid: a byte has 256 values, so that a function of
// one is a table.
#include <cmath>
#include <memory>

#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input : int { kX, kXScale, kXZero, kYScale, kYZero };

template <typename Fn>
absl::StatusOr<std::unique_ptr<Kernel>> MakeUnary(const NodeSpec& spec, Fn fn) {
  RETURN_IF_ERROR(ExpectOneElement(spec, {kXScale, kXZero, kYScale, kYZero}));
  const int64_t elements = spec.output(0).shape.NumElements();
  const ElementType type = spec.input(kX).type;
  return MakeKernel([elements, type, fn](KernelContext& context) {
    const ByteTable table = MakeByteTable(ReadQuantization(context, type, kXScale, kXZero),
                                          ReadQuantization(context, type, kYScale, kYZero), fn);
    const auto* x = static_cast<const uint8_t*>(context.input(kX).data);
    auto* y = static_cast<uint8_t*>(context.output(0).data);
    context.threads().ParallelFor(elements, kElementwiseGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> LeakyRelu(const NodeSpec& spec) {
  const float alpha = spec.attributes().GetFloat("alpha", 0.01f);
  return MakeUnary(spec, [alpha](float v) { return v >= 0 ? v : alpha * v; });
}

absl::StatusOr<std::unique_ptr<Kernel>> Sigmoid(const NodeSpec& spec) {
  return MakeUnary(spec, [](float v) {
    return static_cast<float>(1 / (1 + std::exp(-static_cast<double>(v))));
  });
}

OpDef Definition(absl::string_view name, ReferenceFn reference) {
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  return {.domain = "com.microsoft",
          .name = name,
          .inputs = {{"X", "T", kByteTypes},
                     {"X_scale", "", kFloat},
                     {"X_zero_point", "T", kByteTypes, kOptional},
                     {"Y_scale", "", kFloat},
                     {"Y_zero_point", "T", kByteTypes, kOptional}},
          .outputs = {{"Y", "T", kByteTypes}},
          .infer = InferSameAsInput,
          .reference = reference,
          .in_place_inputs = {0}};
}

}  // namespace

void RegisterQLinearUnaryOps(OpRegistry& registry) {
  OpDef leaky_relu = Definition("QLinearLeakyRelu", LeakyRelu);
  leaky_relu.attributes = {{"alpha", AttributeSpec::Kind::kFloat}};
  registry.Register(std::move(leaky_relu));
  registry.Register(Definition("QLinearSigmoid", Sigmoid));
}

}  // namespace inferd::engine
