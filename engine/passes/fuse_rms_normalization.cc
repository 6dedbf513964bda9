// x / sqrt(mean(x^2) + epsilon) over the last dimensions, with or without a scale, becomes
// RMSNormalization; Casts around the float part of a half-precision network go into it. Preserves
// values up to float rounding.
#include "engine/passes/all_passes.h"
#include "engine/passes/normalization_operands.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {
namespace {

absl::StatusOr<bool> Build(Match& m) {
  const int64_t axis = TrailingAxis(*m["mean"]->producer());
  if (!m.KeepsShapeOf("x")) return false;
  // The operator takes a type of its own for the scale and the result.
  Value* x = m["half"] != nullptr ? m["half"] : m["x"];
  Value* scale = m["scale"] == nullptr
                     ? UnitScale(m, m["x"], m.root().output(0)->type().element, axis)
                     : AsNormalizationParameter(m, m["scale"], m["x"], axis);
  if (scale == nullptr) return false;
  Attributes attributes;
  attributes.Set("axis", axis);
  attributes.Set("epsilon", static_cast<float>(m.number("epsilon")));
  m.ReplaceWith("RMSNormalization", {x, scale}, std::move(attributes));
  return true;
}

}  // namespace

absl::StatusOr<int> FuseRmsNormalization(Graph& graph, const OpRegistry& registry) {
  const Pattern x = OneOf({Op("Cast", {Any("half")}).As("x"), Any("x")});
  const Pattern shifted = Op("Add", {TrailingMean(Square(x), "mean"), Number("epsilon")});
  const Pattern plain = DividedBySqrt(x, shifted);
  const Pattern normalized = OneOf({Op("Cast", {plain}).As("cast"), plain});
  const Rule rules[] = {
      {OneOf({Op("Mul", {normalized, Any("scale")}),
              Product({x, InverseSqrt(shifted), Any("scale")})}),
       Build},
      {plain, Build},
  };
  return ApplyRules(graph, registry, rules);
}

}  // namespace inferd::engine
