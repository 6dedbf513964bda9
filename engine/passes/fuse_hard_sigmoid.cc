// relu6(x + 3) / 6, and any line alpha * x + beta clipped to [0, 1], become HardSigmoid. Preserves
// values up to float rounding.
#include "engine/passes/all_passes.h"
#include "engine/passes/clipped_line.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {
namespace {

absl::StatusOr<bool> Build(Match& m, double alpha, double beta) {
  if (!m.KeepsShapeOf("x")) return false;
  Attributes attributes;
  attributes.Set("alpha", static_cast<float>(alpha));
  attributes.Set("beta", static_cast<float>(beta));
  m.ReplaceWith("HardSigmoid", {m["x"]}, std::move(attributes));
  return true;
}

}  // namespace

absl::StatusOr<int> FuseHardSigmoid(Graph& graph, const OpRegistry& registry) {
  const Pattern x = Any("x");
  const Pattern scaled =
      OneOf({Op("Mul", {x, Number("alpha")}), Op("Div", {x, Number("divisor")})});
  const Rule rules[] = {
      {Product({ClippedLine(x), Is(1.0 / 6)}), [](Match& m) { return Build(m, 1.0 / 6, 0.5); }},
      {Between(Op("Add", {scaled, Number("beta")}), 0, 1),
       [](Match& m) -> absl::StatusOr<bool> {
         if (m["divisor"] != nullptr && m.number("divisor") == 0) return false;
         const double alpha =
             m["alpha"] != nullptr ? m.number("alpha") : 1 / m.number("divisor", 1);
         return Build(m, alpha, m.number("beta"));
       }},
  };
  return ApplyRules(graph, registry, rules);
}

}  // namespace inferd::engine
