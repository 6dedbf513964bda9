// GELU in its decomposed spellings becomes Gelu:
//   erf form    x * 0.5 * (1 + erf(x / sqrt 2))
//   tanh form   x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
//   https://arxiv.org/abs/1606.08415
// Preserves values up to float rounding.
#include <cmath>
#include <numbers>

#include "engine/passes/all_passes.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {
namespace {

// x * (1 + gate) / 2, the half on whichever side.
Pattern Gated(const Pattern& gate) {
  const Pattern x = Any("x");
  return OneOf({Product({x, Is(0.5), Op("Add", {gate, Is(1)})}),
                Op("Mul", {x, Op("Add", {Product({gate, Is(0.5)}), Is(0.5)})})});
}

Pattern ErfGate() { return Op("Erf", {Product({Any("x"), Is(1 / std::numbers::sqrt2)})}); }

Pattern TanhGate() {
  const double outer = std::sqrt(2 / std::numbers::pi);
  constexpr double kInner = 0.044715;
  const Pattern x = Any("x");
  const auto scaled_cube = [&](double scale) {
    return OneOf({Product({Is(scale), Op("Pow", {x, Is(3)})}), Product({Is(scale), x, x, x}),
                  Product({Is(scale), x, Op("Pow", {x, Is(2)})})});
  };
  const auto scaled_square = [&](double scale) {
    return OneOf({Product({Is(scale), Op("Pow", {x, Is(2)})}), Product({Is(scale), x, x})});
  };
  return Op("Tanh", {OneOf({Product({Is(outer), Op("Add", {x, scaled_cube(kInner)})}),
                            Product({Is(outer), x, Op("Add", {scaled_square(kInner), Is(1)})}),
                            Op("Add", {Product({Is(outer), x}), scaled_cube(outer * kInner)})})});
}

absl::StatusOr<bool> Build(Match& m, bool tanh_form) {
  if (!m.KeepsShapeOf("x")) return false;
  Attributes attributes;
  if (tanh_form) attributes.Set("approximate", std::string("tanh"));
  m.ReplaceWith("Gelu", {m["x"]}, std::move(attributes));
  return true;
}

}  // namespace

absl::StatusOr<int> FuseGelu(Graph& graph, const OpRegistry& registry) {
  const Rule rules[] = {{Gated(ErfGate()), [](Match& m) { return Build(m, false); }},
                        {Gated(TanhGate()), [](Match& m) { return Build(m, true); }}};
  return ApplyRules(graph, registry, rules);
}

}  // namespace inferd::engine
