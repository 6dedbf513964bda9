// Removes nodes and constants that no output depends on. Preserves every output.
#include "engine/passes/all_passes.h"

namespace inferd::engine {

absl::StatusOr<int> RemoveDead(Graph& graph, const OpRegistry& /*registry*/) {
  return graph.RemoveDead();
}

}  // namespace inferd::engine
