#include "engine/ops/microsoft/microsoft_ops.h"

namespace inferd::engine {

void RegisterMicrosoftOps(OpRegistry& registry) {
  RegisterBifurcationDetectorOps(registry);
  RegisterCDistOps(registry);
  RegisterCropAndResizeOps(registry);
  RegisterDynamicTimeWarpingOps(registry);
  RegisterFusedMatMulOps(registry);
  RegisterGatherBlockQuantizedOps(registry);
  RegisterInverseOps(registry);
  RegisterMatMulBnb4Ops(registry);
  RegisterMatMulNBitsOps(registry);
  RegisterMixtureOfExpertsOps(registry);
  RegisterMurmurHash3Ops(registry);
  RegisterNGramRepeatBlockOps(registry);
  RegisterTokenizerOps(registry);
  RegisterUnfoldTensorOps(registry);
  RegisterWordConvEmbeddingOps(registry);
}

}  // namespace inferd::engine
