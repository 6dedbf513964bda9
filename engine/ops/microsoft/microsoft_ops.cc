#include "engine/ops/microsoft/microsoft_ops.h"

#include "engine/ops/all_ops.h"

namespace inferd::engine {

void RegisterMicrosoftOps(OpRegistry& registry) {
  RegisterGatherBlockQuantizedOps(registry);
  RegisterMatMulNBitsOps(registry);
}

}  // namespace inferd::engine
