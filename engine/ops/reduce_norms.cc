// ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp.
#include "engine/ops/reduce_kernel.h"
#include "engine/ops/reducers.h"

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

}  // namespace

void RegisterReduceNorms(OpRegistry& registry) {
  RegisterReduceOp(registry, "ReduceL1", 18, kTypes, Reference<reducer::L1>);
  RegisterReduceOp(registry, "ReduceL2", 18, kTypes, Reference<reducer::L2>);
  RegisterReduceOp(registry, "ReduceLogSum", 18, kTypes, Reference<reducer::LogSum>);
  RegisterReduceOp(registry, "ReduceLogSumExp", 18, kTypes, Reference<reducer::LogSumExp>);
}

}  // namespace inferd::engine
