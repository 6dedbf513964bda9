#include "engine/ops/all_ops.h"

#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

void RegisterAllOps(OpRegistry& registry) {
  RegisterActivationOps(registry);
  RegisterAffineGridOps(registry);
  RegisterArgReduceOps(registry);
  RegisterAttentionOps(registry);
  RegisterAveragePoolOps(registry);
  RegisterBatchNormalizationOps(registry);
  RegisterBitCastOps(registry);
  RegisterCastOps(registry);
  RegisterCategoryEncodingOps(registry);
  RegisterCausalConvWithStateOps(registry);
  RegisterCenterCropPadOps(registry);
  RegisterClassificationLossOps(registry);
  RegisterClipOps(registry);
  RegisterCol2ImOps(registry);
  RegisterComparisonOps(registry);
  RegisterCompressOps(registry);
  RegisterConcatOps(registry);
  RegisterConstantOfShapeOps(registry);
  RegisterConvIntegerOps(registry);
  RegisterConvOps(registry);
  RegisterConvTransposeOps(registry);
  RegisterCumulativeOps(registry);
  RegisterDeformConvOps(registry);
  RegisterDepthToSpaceOps(registry);
  RegisterDequantizeLinearOps(registry);
  RegisterDeterminantOps(registry);
  RegisterDftOps(registry);
  RegisterDropoutOps(registry);
  RegisterDynamicQuantizeLinearOps(registry);
  RegisterDynamicQuantizeLstmOps(registry);
  RegisterEinsumOps(registry);
  RegisterElementwiseBinaryOps(registry);
  RegisterElementwiseUnaryOps(registry);
  RegisterElementwiseVariadicOps(registry);
  RegisterExpandOps(registry);
  RegisterEyeLikeOps(registry);
  RegisterFeatureScalingOps(registry);
  RegisterFeatureSelectionOps(registry);
  RegisterFlexAttentionOps(registry);
  RegisterGatherElementsOps(registry);
  RegisterGatherNDOps(registry);
  RegisterGatherOps(registry);
  RegisterGemmOps(registry);
  RegisterGenerationOps(registry);
  RegisterGridSampleOps(registry);
  RegisterGroupNormalizationOps(registry);
  RegisterGruOps(registry);
  RegisterIdentityOps(registry);
  RegisterIfOps(registry);
  RegisterImageDecoderOps(registry);
  RegisterInternalOps(registry);
  RegisterLabelEncoderOps(registry);
  RegisterLayerNormalizationOps(registry);
  RegisterLinearAttentionOps(registry);
  RegisterLinearClassifierOps(registry);
  RegisterLinearRegressorOps(registry);
  RegisterLogicalOps(registry);
  RegisterLoopOps(registry);
  RegisterLpNormalizationOps(registry);
  RegisterLpPoolOps(registry);
  RegisterLrnOps(registry);
  RegisterLstmOps(registry);
  RegisterMapToTensorOps(registry);
  RegisterMatMulInteger16Ops(registry);
  RegisterMatMulIntegerOps(registry);
  RegisterMatMulOps(registry);
  RegisterMaxPoolOps(registry);
  RegisterMaxRoiPoolOps(registry);
  RegisterMaxUnpoolOps(registry);
  RegisterMelWeightMatrixOps(registry);
  RegisterMicrosoftAttentionOps(registry);
  RegisterMicrosoftEmbedLayerNormalizationOps(registry);
  RegisterMicrosoftGeluOps(registry);
  RegisterMicrosoftGroupQueryAttentionOps(registry);
  RegisterMicrosoftLinearQuantizationOps(registry);
  RegisterMicrosoftMultiHeadAttentionOps(registry);
  RegisterMicrosoftOps(registry);
  RegisterMicrosoftQLinearConvOps(registry);
  RegisterMicrosoftRotaryEmbeddingOps(registry);
  RegisterMicrosoftSkipLayerNormalizationOps(registry);
  RegisterNonMaxSuppressionOps(registry);
  RegisterNonZeroOps(registry);
  RegisterOneHotOps(registry);
  RegisterOptionalOps(registry);
  RegisterPadOps(registry);
  RegisterQGemmOps(registry);
  RegisterQLinearBinaryOps(registry);
  RegisterQLinearConcatOps(registry);
  RegisterQLinearConvOps(registry);
  RegisterQLinearMatMulOps(registry);
  RegisterQLinearPoolOps(registry);
  RegisterQLinearReduceMeanOps(registry);
  RegisterQLinearSoftmaxOps(registry);
  RegisterQLinearUnaryOps(registry);
  RegisterQLinearWhereOps(registry);
  RegisterQuantizeLinearOps(registry);
  RegisterQuantizedMatMulOps(registry);
  RegisterRandomDrawOps(registry);
  RegisterRandomTensorOps(registry);
  RegisterRangeOps(registry);
  RegisterReduceOps(registry);
  RegisterRegexFullMatchOps(registry);
  RegisterReshapeOps(registry);
  RegisterResizeOps(registry);
  RegisterReverseSequenceOps(registry);
  RegisterRnnOps(registry);
  RegisterRoiAlignOps(registry);
  RegisterRotaryEmbeddingOps(registry);
  RegisterScanOps(registry);
  RegisterScatterOps(registry);
  RegisterSequenceMapOps(registry);
  RegisterSequenceOps(registry);
  RegisterSequenceTensorOps(registry);
  RegisterShapeOps(registry);
  RegisterShrinkOps(registry);
  RegisterSliceOps(registry);
  RegisterSoftmaxOps(registry);
  RegisterSplitOps(registry);
  RegisterStftOps(registry);
  RegisterStringConcatOps(registry);
  RegisterStringNormalizerOps(registry);
  RegisterStringSplitOps(registry);
  RegisterSvmClassifierOps(registry);
  RegisterSvmRegressorOps(registry);
  RegisterSwiGluOps(registry);
  RegisterTensorScatterOps(registry);
  RegisterTfIdfVectorizerOps(registry);
  RegisterTopKOps(registry);
  RegisterTransposeOps(registry);
  RegisterTreeEnsembleClassifierOps(registry);
  RegisterTreeEnsembleOps(registry);
  RegisterTreeEnsembleRegressorOps(registry);
  RegisterTrigonometricOps(registry);
  RegisterTriluOps(registry);
  RegisterUniqueOps(registry);
  RegisterWhereOps(registry);
  RegisterWindowFunctionOps(registry);
  RegisterZipMapOps(registry);
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
