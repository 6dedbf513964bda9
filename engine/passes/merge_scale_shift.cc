// Mul and Add by constants per channel, as some exporters write after BatchNormalization, merge
// into the inferd::ScaleShift before them; so do two ScaleShifts in a row. Preserves values up to
// float rounding.
#include <optional>
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/channel_affine.h"
#include "engine/passes/rewrite.h"

namespace inferd::engine {

absl::StatusOr<int> MergeScaleShift(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (!rewriter.IsReplaceable(node)) continue;
    for (Value* x : node->inputs()) {
      if (x == nullptr || !IsOp(x->producer(), "inferd::ScaleShift")) continue;
      Node* before = x->producer();
      if (!rewriter.HasOneUse(x) || before->attributes().has("activations")) continue;
      const Tensor* first_scale = FloatConstant(before->input(1));
      const Tensor* first_shift = FloatConstant(before->input(2));
      if (first_scale == nullptr || first_shift == nullptr) continue;
      const int64_t channels = first_scale->num_elements();
      const std::optional<ChannelAffine> affine = MatchChannelAffine(*node, x, channels);
      if (!affine.has_value()) continue;
      std::vector<float> scale(channels), shift(channels);
      for (int64_t c = 0; c < channels; ++c) {
        scale[c] = first_scale->data<float>()[c] * affine->scale[c];
        shift[c] = first_shift->data<float>()[c] * affine->scale[c] + affine->shift[c];
      }
      const std::string name = before->name();
      Attributes attributes;
      WriteActivations(affine->activations, &attributes);
      Node* merged = rewriter.Replace(node, registry.Get("ScaleShift", kInferdDomain), name,
                                      {before->input(0), AddVector(graph, name + "_scale", scale),
                                       AddVector(graph, name + "_shift", shift)},
                                      std::move(attributes));
      merged->AddOrigins(*before);
      rewriter.RemoveIfUnused(before);
      ++applied;
      break;
    }
  }
  return applied;
}

}  // namespace inferd::engine
