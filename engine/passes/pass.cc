#include "engine/passes/pass.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/passes/all_passes.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Order matters within a round: quantized operators before their weights are folded to floats;
// then constants, since the others match on them; whole functions before what takes them to pieces
// (their constants go into convolutions, their means become pools); the residual before the
// activation that follows it.
constexpr Pass kPasses[] = {
    {"fuse_quantized",
     "Computes operators between DequantizeLinear and QuantizeLinear on the 8-bit numbers.",
     FuseQuantized},
    {"fold_constants", "Computes nodes whose inputs are all constant.", FoldConstants},
    {"inline_constant_if", "Puts the branch in the place of an If whose condition is constant.",
     InlineConstantIf},
    {"remove_no_ops", "Removes nodes that pass their input through.", RemoveNoOps},
    {"eliminate_common_subexpressions", "Computes equal nodes once.",
     EliminateCommonSubexpressions},
    {"fuse_gelu", "Makes one Gelu of its erf and tanh spellings.", FuseGelu},
    {"fuse_hard_swish", "Makes one HardSwish of its spellings.", FuseHardSwish},
    {"fuse_hard_sigmoid", "Makes one HardSigmoid of a line clipped to [0, 1].", FuseHardSigmoid},
    {"fuse_mish", "Makes one Mish of x * tanh(softplus(x)).", FuseMish},
    {"fuse_softplus", "Makes one Softplus of log(1 + exp(x)).", FuseSoftplus},
    {"fuse_swish", "Makes one Swish of x * sigmoid(x).", FuseSwish},
    {"fuse_scaled_swish", "Makes one Swish of x * sigmoid(alpha * x).", FuseScaledSwish,
     /*by_default=*/false},
    {"fuse_layer_normalization", "Makes one LayerNormalization of its spellings.",
     FuseLayerNormalization},
    {"fuse_rms_normalization", "Makes one RMSNormalization of its spellings.",
     FuseRmsNormalization},
    {"fuse_attention", "Makes one Attention of MatMul, scale, mask, Softmax and MatMul.",
     FuseAttention, /*by_default=*/false},
    {"batch_norm_to_scale_shift",
     "Turns BatchNormalization with constant statistics into a scale and shift by channel.",
     BatchNormToScaleShift},
    {"merge_scale_shift", "Merges constant Mul and Add by channel into the ScaleShift before them.",
     MergeScaleShift},
    {"fuse_scale_into_conv",
     "Folds ScaleShift and constant Mul and Add by channel into the weights of a Conv.",
     FuseScaleIntoConv},
    {"fuse_channel_shuffle",
     "Makes one node of Reshape, Transpose, Reshape that shuffles channels.", FuseChannelShuffle},
    {"merge_reshapes", "Makes one Reshape of several in a row.", MergeReshapes},
    {"reduce_mean_to_global_pool", "Averages over all spatial axes by GlobalAveragePool.",
     ReduceMeanToGlobalPool},
    {"fuse_matmul_bias", "Adds a bias inside the MatMul before it.", FuseMatMulBias},
    {"fuse_residual_add", "Adds a tensor of equal shape inside the Conv before the addition.",
     FuseResidualAdd},
    {"fuse_activation",
     "Applies activations inside the Conv, Gemm, MatMul, Add or ScaleShift before them.",
     FuseActivation},
    {"remove_dead", "Removes nodes and constants nothing uses.", RemoveDead},
};

// A rewrite can enable an earlier pass; real models settle in two or three rounds.
constexpr int kMaxRounds = 8;

}  // namespace

absl::Span<const Pass> AllPasses() { return kPasses; }

std::vector<absl::string_view> PassNames() {
  std::vector<absl::string_view> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  return names;
}

absl::StatusOr<std::vector<PassStep>> RunPassSteps(Graph& graph, const OpRegistry& registry,
                                                   const PassOptions& options) {
  const std::vector<absl::string_view> names = PassNames();
  for (const std::string& name : options.disabled) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no pass is named '", name, "'; passes are ", absl::StrJoin(names, ", ")));
    }
  }
  RETURN_IF_ERROR(InferShapes(graph));
  std::vector<PassStep> steps;
  const auto stop = [&] {
    return options.stop_after >= 0 && static_cast<int>(steps.size()) >= options.stop_after;
  };
  bool changed = true;
  for (int round = 0; round < kMaxRounds && changed; ++round) {
    changed = false;
    for (const Pass& pass : kPasses) {
      if (stop()) return steps;
      if (!pass.by_default || std::find(options.disabled.begin(), options.disabled.end(),
                                        pass.name) != options.disabled.end()) {
        continue;
      }
      absl::StatusOr<int> applied = pass.run(graph, registry);
      if (!applied.ok()) {
        return absl::Status(applied.status().code(),
                            absl::StrCat("pass ", pass.name, ": ", applied.status().message()));
      }
      if (*applied == 0) continue;
      changed = true;
      steps.push_back({pass.name, *applied});
      if (absl::Status valid = Verify(graph); !valid.ok()) {
        return absl::InternalError(
            absl::StrCat("pass ", pass.name, " broke the graph: ", valid.message()));
      }
      RETURN_IF_ERROR(InferShapes(graph));
    }
  }
  return steps;
}

absl::StatusOr<std::vector<PassResult>> RunPasses(Graph& graph, const OpRegistry& registry,
                                                  absl::Span<const std::string> disabled) {
  ASSIGN_OR_RETURN(const std::vector<PassStep> steps,
                   RunPassSteps(graph, registry, {.disabled = disabled, .stop_after = -1}));
  std::vector<PassResult> results;
  for (const Pass& pass : kPasses) {
    results.push_back({pass.name, 0});
    for (const PassStep& step : steps) {
      if (step.name == pass.name) results.back().applied += step.applied;
    }
  }
  return results;
}

}  // namespace inferd::engine
