// Where: condition ? X : Y, with broadcast of all three.
#include <complex>
#include <string>

#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferWhere(InferenceContext& context) {
  ASSIGN_OR_RETURN(SymbolicShape shape,
                   BroadcastSymbolicShapes(context.shape(1), context.shape(2)));
  ASSIGN_OR_RETURN(shape, BroadcastSymbolicShapes(context.shape(0), shape));
  context.SetOutput(0, context.element_type(1), std::move(shape));
  return absl::OkStatus();
}

// T is any type of the element's size: values are moved, never computed with.
template <typename T>
std::unique_ptr<Kernel> WhereKernel(const NodeSpec& spec) {
  const BroadcastPlan<3> plan = PlanBroadcast<3>(
      spec.output(0).shape, {&spec.input(0).shape, &spec.input(1).shape, &spec.input(2).shape});
  return MakeKernel([plan](KernelContext& context) {
    const bool* condition = context.input(0).as<bool>();
    const T* x = static_cast<const T*>(context.input(1).data);
    const T* y = static_cast<const T*>(context.input(2).data);
    T* out = static_cast<T*>(context.output(0).data);
    const int64_t step_c = plan.varies(0), step_x = plan.varies(1), step_y = plan.varies(2);
    const auto row = [&](int64_t index, const std::array<int64_t, 3>& offsets, int64_t count) {
      const bool* pc = condition + offsets[0];
      const T* px = x + offsets[1];
      const T* py = y + offsets[2];
      T* po = out + index;
      if (step_c == 0) {
        // One decision for the whole row.
        const T* chosen = *pc ? px : py;
        const int64_t step = *pc ? step_x : step_y;
        for (int64_t i = 0; i < count; ++i) po[i] = chosen[i * step];
      } else if (step_x == 1 && step_y == 1) {
        INFERD_INDEPENDENT_ITERATIONS
        for (int64_t i = 0; i < count; ++i) po[i] = pc[i] ? px[i] : py[i];
      } else {
        for (int64_t i = 0; i < count; ++i) po[i] = pc[i] ? px[i * step_x] : py[i * step_y];
      }
    };
    context.threads().ParallelFor(
        plan.elements, kElementwiseGrain,
        [&](int64_t begin, int64_t end) { ForEachRow(plan, begin, end, row); });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> WhereReference(const NodeSpec& spec) {
  const ElementType type = spec.output(0).type;
  if (type == ElementType::kString) return WhereKernel<std::string>(spec);
  switch (ElementBits(type)) {
    case 8:
      return WhereKernel<uint8_t>(spec);
    case 16:
      return WhereKernel<uint16_t>(spec);
    case 32:
      return WhereKernel<uint32_t>(spec);
    case 64:
      return WhereKernel<uint64_t>(spec);
    case 128:
      return WhereKernel<std::complex<double>>(spec);
    default:
      return UnsupportedType(spec, type);
  }
}

}  // namespace

void RegisterWhereOps(OpRegistry& registry) {
  const ElementTypeSet types = type_sets::kNumeric | type_sets::kComplex |
                               ElementTypeSet{ElementType::kBool, ElementType::kString};
  OpDef def;
  def.name = "Where";
  def.version = 16;
  def.oldest_version = 9;
  def.inputs = {RequiredParameter("condition", "B", {ElementType::kBool}),
                RequiredParameter("X", "T", types), RequiredParameter("Y", "T", types)};
  def.outputs = {RequiredParameter("output", "T", types)};
  def.infer = InferWhere;
  def.reference = WhereReference;
  def.in_place_inputs = {1, 2};
  def.is_elementwise = true;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
