// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) over the last dimensions, with or without a scale
// and a bias, becomes LayerNormalization; so does the form TensorFlow writes, x * m + (b - mean *
// m) with m = scale / sqrt(...), and the form that computes in float between two Casts of a half
// type. Preserves values up to float rounding.
#include "engine/passes/all_passes.h"
#include "engine/passes/normalization_operands.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {
namespace {

absl::StatusOr<bool> Build(Match& m) {
  const int64_t axis = TrailingAxis(*m["mean"]->producer());
  if (axis != TrailingAxis(*m["variance"]->producer()) || !m.KeepsShapeOf("x")) return false;
  Value* x = m["x"];
  if (m["cast"] != nullptr) {
    // One type for input, parameters and output.
    if (m["half"] == nullptr) return false;
    x = m["half"];
    if (m["cast"]->type().element != x->type().element) return false;
  }
  Value* scale = m["scale"] == nullptr ? UnitScale(m, x, x->type().element, axis)
                                       : AsNormalizationParameter(m, m["scale"], m["x"], axis);
  if (scale == nullptr) return false;
  Value* bias = nullptr;
  if (m["bias"] != nullptr) {
    bias = AsNormalizationParameter(m, m["bias"], m["x"], axis);
    if (bias == nullptr) return false;
  }
  Attributes attributes;
  attributes.Set("axis", axis);
  attributes.Set("epsilon", static_cast<float>(m.number("epsilon")));
  m.ReplaceWith("LayerNormalization", {x, scale, bias}, std::move(attributes));
  return true;
}

}  // namespace

absl::StatusOr<int> FuseLayerNormalization(Graph& graph, const OpRegistry& registry) {
  const Pattern x = OneOf({Op("Cast", {Any("half")}).As("x"), Any("x")});
  const Pattern mean = TrailingMean(x, "mean");
  const Pattern d = Op("Sub", {x, mean}).As("d");
  const Pattern shifted =
      Op("Add", {TrailingMean(Square(d), "variance"), Number("epsilon")}).As("shifted");
  const Pattern plain = DividedBySqrt(d, shifted);
  const Pattern normalized = OneOf({Op("Cast", {plain}).As("cast"), plain});
  const Pattern scaled = OneOf({Op("Mul", {normalized, Any("scale")}),
                                Op("Mul", {d, Op("Mul", {InverseSqrt(shifted), Any("scale")})})});
  const Pattern factor = Op("Mul", {InverseSqrt(shifted), Any("scale")}).As("factor");
  const Rule rules[] = {
      {Op("Add", {scaled, Any("bias")}), Build},
      {Op("Add", {Op("Mul", {x, factor}), Op("Sub", {Any("bias"), Op("Mul", {mean, factor})})}),
       Build},
      {scaled, Build},
      {normalized, Build},
  };
  return ApplyRules(graph, registry, rules);
}

}  // namespace inferd::engine
