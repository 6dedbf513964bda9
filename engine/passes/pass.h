// Graph rewrites. One file per pass, named for what it does; each states what it preserves.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/ir/graph.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

struct Pass {
  absl::string_view name;  // "fold_constants"
  absl::string_view what;  // one sentence
  // Rewrites in place and returns how many times it applied. Shapes are inferred before the first
  // pass and after any that applied.
  absl::StatusOr<int> (*run)(Graph& graph, const OpRegistry& registry);
  // False: RunPasses leaves it out, since the kernels there are run its result slower.
  bool by_default = true;
};

// In the order they run.
absl::Span<const Pass> AllPasses();
std::vector<absl::string_view> PassNames();

struct PassOptions {
  // Names of passes to leave out.
  absl::Span<const std::string> disabled = {};
  // Ends after this many steps, to find the step that does harm; negative: no limit.
  int stop_after = -1;
};
// One run of a pass that changed the graph.
struct PassStep {
  absl::string_view name;
  int applied = 0;  // how often
};
// Runs the passes until nothing changes (at most a fixed number of rounds), and verifies the graph
// after each step. INVALID_ARGUMENT for an unknown name in `disabled`.
absl::StatusOr<std::vector<PassStep>> RunPassSteps(Graph& graph, const OpRegistry& registry,
                                                   const PassOptions& options);

struct PassResult {
  absl::string_view name;
  int applied = 0;
};
// The same, with the steps summed up by pass.
absl::StatusOr<std::vector<PassResult>> RunPasses(Graph& graph, const OpRegistry& registry,
                                                  absl::Span<const std::string> disabled);

}  // namespace inferd::engine
