// x * relu6(x + 3) / 6, in any order and with any spelling of relu6 or of the hard sigmoid in it,
// becomes HardSwish. Preserves values up to float rounding, since exporters write 1 / 6 with as
// many digits as they like.
#include "engine/passes/all_passes.h"
#include "engine/passes/clipped_line.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {

absl::StatusOr<int> FuseHardSwish(Graph& graph, const OpRegistry& registry) {
  const Pattern x = Any("x");
  const Rule rule = {
      OneOf({Op("Mul", {x, SixthHardSigmoid(x)}), Product({x, Is(1.0 / 6), ClippedLine(x)})}),
      [](Match& m) -> absl::StatusOr<bool> {
        if (!m.KeepsShapeOf("x")) return false;
        m.ReplaceWith("HardSwish", {m["x"]});
        return true;
      }};
  return ApplyRules(graph, registry, {rule});
}

}  // namespace inferd::engine
