// log(1 + exp(x)) becomes Softplus, which does not overflow where exp does. Preserves finite values
// up to float rounding.
#include "engine/passes/all_passes.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {

absl::StatusOr<int> FuseSoftplus(Graph& graph, const OpRegistry& registry) {
  const Rule rule = {Op("Log", {Op("Add", {Op("Exp", {Any("x")}), Is(1)})}),
                     [](Match& m) -> absl::StatusOr<bool> {
                       if (!m.KeepsShapeOf("x")) return false;
                       m.ReplaceWith("Softplus", {m["x"]});
                       return true;
                     }};
  return ApplyRules(graph, registry, {rule});
}

}  // namespace inferd::engine
