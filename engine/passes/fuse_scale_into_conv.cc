// A scale and shift by channel behind a Conv goes into its weights and bias:
//   (conv(x, w) + b) * s + t = conv(x, w * s) + (b * s + t).
// This is how BatchNormalization (by then inferd::ScaleShift) and constant Mul and Add disappear.
// Preserves values up to float rounding.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/channel_affine.h"
#include "engine/passes/rewrite.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

bool IsIdentityScale(const std::vector<float>& scale) {
  for (float s : scale) {
    if (s != 1.0f) return false;
  }
  return true;
}

absl::StatusOr<Tensor> ScaleRows(const Tensor& weights, const std::vector<float>& scale) {
  ASSIGN_OR_RETURN(Tensor scaled, Tensor::Allocate(ElementType::kFloat32, weights.shape()));
  const int64_t row = weights.num_elements() / static_cast<int64_t>(scale.size());
  const float* from = weights.data<float>();
  float* to = scaled.mutable_data<float>();
  for (const float s : scale) {
    for (int64_t i = 0; i < row; ++i) *to++ = *from++ * s;
  }
  return scaled;
}

}  // namespace

absl::StatusOr<int> FuseScaleIntoConv(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (!rewriter.IsReplaceable(node)) continue;
    for (Value* x : node->inputs()) {
      if (x == nullptr || !IsOp(x->producer(), "Conv") || !rewriter.HasOneUse(x)) continue;
      Node* conv = x->producer();
      const Tensor* weights = FloatConstant(conv->input(1));
      if (weights == nullptr || weights->shape().rank() < 3 || weights->num_elements() == 0) {
        continue;
      }
      if (conv->input(2) != nullptr && FloatConstant(conv->input(2)) == nullptr) continue;
      const int64_t channels = weights->shape()[0];
      const std::optional<ChannelAffine> affine = MatchChannelAffine(*node, x, channels);
      if (!affine.has_value()) continue;

      std::vector<float> bias(channels, 0.0f);
      if (const Tensor* b = FloatConstant(conv->input(2))) {
        if (b->num_elements() != channels) continue;
        bias.assign(b->data<float>(), b->data<float>() + channels);
      }
      for (int64_t c = 0; c < channels; ++c) {
        bias[c] = bias[c] * affine->scale[c] + affine->shift[c];
      }
      Value* scaled = conv->input(1);
      if (!IsIdentityScale(affine->scale)) {
        ASSIGN_OR_RETURN(Tensor tensor, ScaleRows(*weights, affine->scale));
        scaled = graph.AddConstant(conv->input(1)->name(), std::move(tensor));
      }
      Attributes attributes = conv->attributes();
      WriteActivations(affine->activations, &attributes);
      const OpDef& op = affine->activations.empty() ? registry.Get("Conv")
                                                    : registry.Get("FusedConv", kInferdDomain);
      const std::string name = conv->name();
      Node* fused = rewriter.Replace(
          node, op, name, {conv->input(0), scaled, AddVector(graph, name + "_bias", bias)},
          std::move(attributes));
      fused->AddOrigins(*conv);
      rewriter.RemoveIfUnused(conv);
      ++applied;
      break;
    }
  }
  return applied;
}

}  // namespace inferd::engine
