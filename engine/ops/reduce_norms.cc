// ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp.
#include "engine/ops/reduce_kernel.h"
#include "engine/ops/reducers.h"

namespace inferd::engine {
void RegisterReduceNorms(OpRegistry& registry) {
  RegisterReduceOp(registry, "ReduceL1", 18, kReducedTypes, ReduceReference<reducer::L1>);
  RegisterReduceOp(registry, "ReduceL2", 18, kReducedTypes, ReduceReference<reducer::L2>);
  RegisterReduceOp(registry, "ReduceLogSum", 18, kReducedTypes, ReduceReference<reducer::LogSum>);
  RegisterReduceOp(registry, "ReduceLogSumExp", 18, kReducedTypes,
                   ReduceReference<reducer::LogSumExp>);
}

}  // namespace inferd::engine
