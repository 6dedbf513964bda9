// ReduceSum ReduceMean ReduceProd ReduceSumSquare.
#include "engine/ops/reduce_kernel.h"
#include "engine/ops/reducers.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes =
    type_sets::kFloats | ElementTypeSet{ElementType::kInt32, ElementType::kInt64,
                                        ElementType::kUint32, ElementType::kUint64};

template <template <typename> class Reducer>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  return ReduceKernelFor<Reducer, float, double, Float16, BFloat16, int32_t, int64_t, uint32_t,
                         uint64_t>(spec);
}

absl::StatusOr<std::unique_ptr<Kernel>> MeanReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const ReductionPlan plan, PlanReduceNode(spec));
  if (plan.count == 0 && plan.outputs > 0 && !type_sets::kFloats.contains(spec.input(0).type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ReduceMean: the mean of no elements of type ", ElementTypeName(spec.input(0).type),
        " is undefined (input 0 has shape ", spec.input(0).shape.ToString(), ")"));
  }
  return Reference<reducer::Mean>(spec);
}

}  // namespace

void RegisterReduceSums(OpRegistry& registry) {
  RegisterReduceOp(registry, "ReduceSum", 13, kTypes, Reference<reducer::Sum>);
  RegisterReduceOp(registry, "ReduceMean", 18, kTypes, MeanReference);
  RegisterReduceOp(registry, "ReduceProd", 18, kTypes, Reference<reducer::Prod>);
  RegisterReduceOp(registry, "ReduceSumSquare", 18, kTypes, Reference<reducer::SumSquare>);
}

}  // namespace inferd::engine
