#include "engine/passes/channel_affine.h"

#include <utility>

#include "engine/passes/rewrite.h"

namespace inferd::engine {

std::optional<ChannelAffine> MatchChannelAffine(const Node& node, const Value* x,
                                                int64_t channels) {
  if (!IsFloat32(x) || !x->type().shape.has_rank() || x->type().shape.rank() < 2) {
    return std::nullopt;
  }
  ChannelAffine affine;
  if (IsOp(&node, "inferd::ScaleShift")) {
    const Tensor* scale = FloatConstant(node.input(1));
    const Tensor* shift = FloatConstant(node.input(2));
    auto activations = ReadActivations(node.attributes());
    if (node.input(0) != x || scale == nullptr || shift == nullptr || !activations.ok() ||
        scale->num_elements() != channels || shift->num_elements() != channels) {
      return std::nullopt;
    }
    affine.scale.assign(scale->data<float>(), scale->data<float>() + channels);
    affine.shift.assign(shift->data<float>(), shift->data<float>() + channels);
    affine.activations = *std::move(activations);
    return affine;
  }
  const bool mul = IsOp(&node, "Mul"), add = IsOp(&node, "Add");
  const bool sub = IsOp(&node, "Sub"), div = IsOp(&node, "Div");
  if (!mul && !add && !sub && !div) return std::nullopt;
  const bool x_first = node.input(0) == x;
  // constant - x and constant / x are no scale and shift of this form.
  if (!x_first && (sub || div)) return std::nullopt;
  std::optional<std::vector<float>> constant =
      ChannelConstant(node.input(x_first ? 1 : 0), x->type().shape.rank(), channels);
  if (!constant.has_value()) return std::nullopt;
  if (mul || div) {
    affine.scale = *std::move(constant);
    affine.shift.assign(channels, 0.0f);
    if (div) {
      for (float& s : affine.scale) s = 1.0f / s;
    }
  } else {
    affine.scale.assign(channels, 1.0f);
    affine.shift = *std::move(constant);
    if (sub) {
      for (float& s : affine.shift) s = -s;
    }
  }
  return affine;
}

}  // namespace inferd::engine
