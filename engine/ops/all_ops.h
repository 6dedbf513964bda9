// The explicit list of operator families. A new family: one line here, one in all_ops.cc.
#pragma once

namespace inferd::engine {

class OpRegistry;

void RegisterActivationOps(OpRegistry& registry);
void RegisterArgReduceOps(OpRegistry& registry);
void RegisterAveragePoolOps(OpRegistry& registry);
void RegisterBatchNormalizationOps(OpRegistry& registry);
void RegisterCastOps(OpRegistry& registry);
void RegisterClipOps(OpRegistry& registry);
void RegisterComparisonOps(OpRegistry& registry);
void RegisterCompressOps(OpRegistry& registry);
void RegisterConcatOps(OpRegistry& registry);
void RegisterConstantOfShapeOps(OpRegistry& registry);
void RegisterConvOps(OpRegistry& registry);
void RegisterConvTransposeOps(OpRegistry& registry);
void RegisterCumulativeOps(OpRegistry& registry);
void RegisterDepthToSpaceOps(OpRegistry& registry);
void RegisterDropoutOps(OpRegistry& registry);
void RegisterEinsumOps(OpRegistry& registry);
void RegisterElementwiseBinaryOps(OpRegistry& registry);
void RegisterElementwiseUnaryOps(OpRegistry& registry);
void RegisterElementwiseVariadicOps(OpRegistry& registry);
void RegisterExpandOps(OpRegistry& registry);
void RegisterEyeLikeOps(OpRegistry& registry);
void RegisterFeatureScalingOps(OpRegistry& registry);
void RegisterFeatureSelectionOps(OpRegistry& registry);
void RegisterGatherElementsOps(OpRegistry& registry);
void RegisterGatherNDOps(OpRegistry& registry);
void RegisterGatherOps(OpRegistry& registry);
void RegisterGenerationOps(OpRegistry& registry);
void RegisterGemmOps(OpRegistry& registry);
void RegisterGroupNormalizationOps(OpRegistry& registry);
void RegisterIdentityOps(OpRegistry& registry);
void RegisterIfOps(OpRegistry& registry);
void RegisterInternalOps(OpRegistry& registry);
void RegisterLabelEncoderOps(OpRegistry& registry);
void RegisterLayerNormalizationOps(OpRegistry& registry);
void RegisterLinearClassifierOps(OpRegistry& registry);
void RegisterLinearRegressorOps(OpRegistry& registry);
void RegisterLogicalOps(OpRegistry& registry);
void RegisterLoopOps(OpRegistry& registry);
void RegisterLpNormalizationOps(OpRegistry& registry);
void RegisterLpPoolOps(OpRegistry& registry);
void RegisterLrnOps(OpRegistry& registry);
void RegisterMatMulOps(OpRegistry& registry);
void RegisterMaxPoolOps(OpRegistry& registry);
void RegisterNonZeroOps(OpRegistry& registry);
void RegisterOneHotOps(OpRegistry& registry);
void RegisterOptionalOps(OpRegistry& registry);
void RegisterPadOps(OpRegistry& registry);
void RegisterRangeOps(OpRegistry& registry);
void RegisterReduceOps(OpRegistry& registry);
void RegisterReshapeOps(OpRegistry& registry);
void RegisterResizeOps(OpRegistry& registry);
void RegisterReverseSequenceOps(OpRegistry& registry);
void RegisterScanOps(OpRegistry& registry);
void RegisterScatterOps(OpRegistry& registry);
void RegisterSequenceMapOps(OpRegistry& registry);
void RegisterSequenceOps(OpRegistry& registry);
void RegisterSequenceTensorOps(OpRegistry& registry);
void RegisterShapeOps(OpRegistry& registry);
void RegisterSliceOps(OpRegistry& registry);
void RegisterSoftmaxOps(OpRegistry& registry);
void RegisterSplitOps(OpRegistry& registry);
void RegisterTopKOps(OpRegistry& registry);
void RegisterTransposeOps(OpRegistry& registry);
void RegisterTreeEnsembleClassifierOps(OpRegistry& registry);
void RegisterTreeEnsembleOps(OpRegistry& registry);
void RegisterTreeEnsembleRegressorOps(OpRegistry& registry);
void RegisterTrigonometricOps(OpRegistry& registry);
void RegisterTriluOps(OpRegistry& registry);
void RegisterWhereOps(OpRegistry& registry);

}  // namespace inferd::engine
