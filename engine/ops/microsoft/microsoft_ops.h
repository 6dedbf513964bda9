// The operator families of domain com.microsoft that stand alone: neither attention nor the
// QLinear family. A new one: one line here, one in microsoft_ops.cc.
#pragma once

namespace inferd::engine {

class OpRegistry;

// All of them.
void RegisterMicrosoftOps(OpRegistry& registry);

void RegisterBifurcationDetectorOps(OpRegistry& registry);
void RegisterCDistOps(OpRegistry& registry);
void RegisterCropAndResizeOps(OpRegistry& registry);
void RegisterDynamicTimeWarpingOps(OpRegistry& registry);
void RegisterFusedMatMulOps(OpRegistry& registry);
void RegisterGatherBlockQuantizedOps(OpRegistry& registry);
void RegisterInverseOps(OpRegistry& registry);
void RegisterMatMulBnb4Ops(OpRegistry& registry);
void RegisterMatMulNBitsOps(OpRegistry& registry);
void RegisterMixtureOfExpertsOps(OpRegistry& registry);
void RegisterMurmurHash3Ops(OpRegistry& registry);
void RegisterNGramRepeatBlockOps(OpRegistry& registry);
void RegisterTokenizerOps(OpRegistry& registry);
void RegisterUnfoldTensorOps(OpRegistry& registry);
void RegisterWordConvEmbeddingOps(OpRegistry& registry);

}  // namespace inferd::engine
