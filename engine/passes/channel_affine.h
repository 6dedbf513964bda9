// Nodes that scale and shift by channel with constants, in the forms exporters write them.
// Internal to engine/passes.
#pragma once

#include <optional>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/ops/fused_activation.h"

namespace inferd::engine {

// activations(x * scale + shift), one number per channel (axis 1).
struct ChannelAffine {
  std::vector<float> scale;
  std::vector<float> shift;
  ActivationChain activations;
};

// `node` as such a function of its input `x`, which has `channels` channels: inferd::ScaleShift,
// or Mul, Add, Sub or Div with a constant that broadcasts along axis 1 alone. nullopt otherwise.
std::optional<ChannelAffine> MatchChannelAffine(const Node& node, const Value* x, int64_t channels);

}  // namespace inferd::engine
