// com.microsoft QLinearWhere: condition ? X : Y, both brought to the quantization of the result.
#include <array>
#include <memory>
#include <utility>

#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input : int { kCondition, kX, kXScale, kXZero, kY, kYScale, kYZero, kZScale, kZZero };

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(SymbolicShape shape,
                   BroadcastSymbolicShapes(context.shape(kX), context.shape(kY)));
  ASSIGN_OR_RETURN(shape, BroadcastSymbolicShapes(context.shape(kCondition), shape));
  context.SetOutput(0, context.element_type(kX), std::move(shape));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  RETURN_IF_ERROR(ExpectOneElement(spec, {kXScale, kXZero, kYScale, kYZero, kZScale, kZZero}));
  const BroadcastPlan<3> plan = PlanBroadcast<3>(
      spec.output(0).shape,
      {&spec.input(kCondition).shape, &spec.input(kX).shape, &spec.input(kY).shape});
  const ElementType type = spec.input(kX).type;
  return MakeKernel([plan, type](KernelContext& context) {
    const ByteQuantization z = ReadQuantization(context, type, kZScale, kZZero);
    const ByteTable of_x =
        MakeRequantizingTable(ReadQuantization(context, type, kXScale, kXZero), z);
    const ByteTable of_y =
        MakeRequantizingTable(ReadQuantization(context, type, kYScale, kYZero), z);
    const bool* condition = context.input(kCondition).as<bool>();
    const auto* x = static_cast<const uint8_t*>(context.input(kX).data);
    const auto* y = static_cast<const uint8_t*>(context.input(kY).data);
    auto* out = static_cast<uint8_t*>(context.output(0).data);
    const int64_t step_c = plan.varies(0), step_x = plan.varies(1), step_y = plan.varies(2);
    const auto row = [&](int64_t index, const std::array<int64_t, 3>& offsets, int64_t count) {
      const bool* pc = condition + offsets[0];
      const uint8_t* px = x + offsets[1];
      const uint8_t* py = y + offsets[2];
      for (int64_t i = 0; i < count; ++i) {
        out[index + i] = pc[i * step_c] ? of_x[px[i * step_x]] : of_y[py[i * step_y]];
      }
    };
    context.threads().ParallelFor(
        plan.elements, kElementwiseGrain,
        [&](int64_t begin, int64_t end) { ForEachRow(plan, begin, end, row); });
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterQLinearWhereOps(OpRegistry& registry) {
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  registry.Register({.domain = "com.microsoft",
                     .name = "QLinearWhere",
                     .inputs = {{"condition", "B", {ElementType::kBool}},
                                {"X", "T", kByteTypes},
                                {"x_scale", "", kFloat},
                                {"x_zero_point", "T", kByteTypes},
                                {"Y", "T", kByteTypes},
                                {"y_scale", "", kFloat},
                                {"y_zero_point", "T", kByteTypes},
                                {"z_scale", "", kFloat},
                                {"z_zero_point", "T", kByteTypes}},
                     .outputs = {{"Z", "T", kByteTypes}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
