// ReduceSum ReduceMean ReduceProd ReduceSumSquare.
#include "engine/ops/reduce_kernel.h"
#include "engine/ops/reducers.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<std::unique_ptr<Kernel>> MeanReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const ReductionPlan plan, PlanReduceNode(spec));
  if (plan.count == 0 && plan.outputs > 0 && !type_sets::kFloats.contains(spec.input(0).type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ReduceMean: the mean of no elements of type ", ElementTypeName(spec.input(0).type),
        " is undefined (input 0 has shape ", spec.input(0).shape.ToString(), ")"));
  }
  return ReduceReference<reducer::Mean>(spec);
}

}  // namespace

void RegisterReduceSums(OpRegistry& registry) {
  RegisterReduceOp(registry, "ReduceSum", 13, kReducedTypes, ReduceReference<reducer::Sum>);
  RegisterReduceOp(registry, "ReduceMean", 18, kReducedTypes, MeanReference);
  RegisterReduceOp(registry, "ReduceProd", 18, kReducedTypes, ReduceReference<reducer::Prod>);
  RegisterReduceOp(registry, "ReduceSumSquare", 18, kReducedTypes,
                   ReduceReference<reducer::SumSquare>);
}

}  // namespace inferd::engine
