// x * sigmoid(x), which is SiLU, becomes Swish, and so does x * sigmoid(alpha x) by a pass of its
// own. Preserves values up to float rounding.
#include "engine/passes/all_passes.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {
namespace {

absl::StatusOr<bool> Build(Match& m) {
  if (!m.KeepsShapeOf("x")) return false;
  Attributes attributes;
  if (m["alpha"] != nullptr) attributes.Set("alpha", static_cast<float>(m.number("alpha")));
  m.ReplaceWith("Swish", {m["x"]}, std::move(attributes));
  return true;
}

}  // namespace

absl::StatusOr<int> FuseSwish(Graph& graph, const OpRegistry& registry) {
  const Pattern x = Any("x");
  const Pattern divisor = Op("Add", {Op("Exp", {Op("Neg", {x})}), Is(1)});
  const Pattern sigmoid =
      OneOf({Op("Sigmoid", {x}), Op("Div", {Is(1), divisor}), Op("Reciprocal", {divisor})});
  const Rule rule = {OneOf({Op("Mul", {x, sigmoid}), Op("Div", {x, divisor})}), Build};
  return ApplyRules(graph, registry, {rule});
}

absl::StatusOr<int> FuseScaledSwish(Graph& graph, const OpRegistry& registry) {
  const Pattern x = Any("x");
  const Rule rule = {Op("Mul", {x, Op("Sigmoid", {Op("Mul", {x, Number("alpha")})})}), Build};
  return ApplyRules(graph, registry, {rule});
}

}  // namespace inferd::engine
