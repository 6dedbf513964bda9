// ReduceMax ReduceMin.
#include "engine/ops/reduce_kernel.h"
#include "engine/ops/reducers.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes =
    type_sets::kFloats | ElementTypeSet{ElementType::kInt32,  ElementType::kInt64,
                                        ElementType::kUint32, ElementType::kUint64,
                                        ElementType::kInt8,   ElementType::kUint8,
                                        ElementType::kBool};

template <template <typename> class Reducer>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  return ReduceKernelFor<Reducer, float, double, Float16, BFloat16, int32_t, int64_t, uint32_t,
                         uint64_t, int8_t, uint8_t, bool>(spec);
}

}  // namespace

void RegisterReduceExtrema(OpRegistry& registry) {
  RegisterReduceOp(registry, "ReduceMax", 20, kTypes, Reference<reducer::Max>);
  RegisterReduceOp(registry, "ReduceMin", 20, kTypes, Reference<reducer::Min>);
}

}  // namespace inferd::engine
