// x * tanh(softplus(x)) becomes Mish. Preserves values up to float rounding; softplus may itself be
// spelled log(1 + exp(x)).
#include "engine/passes/all_passes.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {

absl::StatusOr<int> FuseMish(Graph& graph, const OpRegistry& registry) {
  const Pattern x = Any("x");
  const Pattern softplus =
      OneOf({Op("Softplus", {x}), Op("Log", {Op("Add", {Op("Exp", {x}), Is(1)})})});
  const Rule rule = {Op("Mul", {x, Op("Tanh", {softplus})}), [](Match& m) -> absl::StatusOr<bool> {
                       if (!m.KeepsShapeOf("x")) return false;
                       m.ReplaceWith("Mish", {m["x"]});
                       return true;
                     }};
  return ApplyRules(graph, registry, {rule});
}

}  // namespace inferd::engine
