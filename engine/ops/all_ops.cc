#include "engine/ops/all_ops.h"

#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

void RegisterAllOps(OpRegistry& registry) {
  RegisterActivationOps(registry);
  RegisterArgReduceOps(registry);
  RegisterAveragePoolOps(registry);
  RegisterBatchNormalizationOps(registry);
  RegisterCastOps(registry);
  RegisterClipOps(registry);
  RegisterComparisonOps(registry);
  RegisterCompressOps(registry);
  RegisterConcatOps(registry);
  RegisterConstantOfShapeOps(registry);
  RegisterConvOps(registry);
  RegisterConvTransposeOps(registry);
  RegisterCumulativeOps(registry);
  RegisterDepthToSpaceOps(registry);
  RegisterDropoutOps(registry);
  RegisterEinsumOps(registry);
  RegisterElementwiseBinaryOps(registry);
  RegisterElementwiseUnaryOps(registry);
  RegisterElementwiseVariadicOps(registry);
  RegisterExpandOps(registry);
  RegisterEyeLikeOps(registry);
  RegisterFeatureScalingOps(registry);
  RegisterFeatureSelectionOps(registry);
  RegisterGatherElementsOps(registry);
  RegisterGatherNDOps(registry);
  RegisterGatherOps(registry);
  RegisterGenerationOps(registry);
  RegisterGemmOps(registry);
  RegisterGroupNormalizationOps(registry);
  RegisterIdentityOps(registry);
  RegisterIfOps(registry);
  RegisterInternalOps(registry);
  RegisterLabelEncoderOps(registry);
  RegisterLayerNormalizationOps(registry);
  RegisterLinearClassifierOps(registry);
  RegisterLinearRegressorOps(registry);
  RegisterLogicalOps(registry);
  RegisterLoopOps(registry);
  RegisterLpNormalizationOps(registry);
  RegisterLpPoolOps(registry);
  RegisterLrnOps(registry);
  RegisterMatMulOps(registry);
  RegisterMaxPoolOps(registry);
  RegisterNonZeroOps(registry);
  RegisterOneHotOps(registry);
  RegisterOptionalOps(registry);
  RegisterPadOps(registry);
  RegisterRangeOps(registry);
  RegisterReduceOps(registry);
  RegisterReshapeOps(registry);
  RegisterResizeOps(registry);
  RegisterReverseSequenceOps(registry);
  RegisterScanOps(registry);
  RegisterScatterOps(registry);
  RegisterSequenceMapOps(registry);
  RegisterSequenceOps(registry);
  RegisterSequenceTensorOps(registry);
  RegisterShapeOps(registry);
  RegisterSliceOps(registry);
  RegisterSoftmaxOps(registry);
  RegisterSplitOps(registry);
  RegisterTopKOps(registry);
  RegisterTransposeOps(registry);
  RegisterTreeEnsembleClassifierOps(registry);
  RegisterTreeEnsembleOps(registry);
  RegisterTreeEnsembleRegressorOps(registry);
  RegisterTrigonometricOps(registry);
  RegisterTriluOps(registry);
  RegisterWhereOps(registry);
}

}  // namespace

const OpRegistry& OpRegistry::Global() {
  // Never destroyed: graphs hold references to its definitions until the process ends.
  static const OpRegistry* const registry = [] {
    auto* all = new OpRegistry;
    RegisterAllOps(*all);
    return all;
  }();
  return *registry;
}

}  // namespace inferd::engine
