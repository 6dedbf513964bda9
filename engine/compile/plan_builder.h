// From a specialized segment to a plan that runs it.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/compile/graph_index.h"
#include "engine/compile/plan.h"
#include "engine/compile/specialize.h"
#include "engine/kernel/kernel.h"

namespace inferd::engine {

// What every plan of a model is made with. Outlives the plans.
struct PlanSettings {
  const GraphIndex* index = nullptr;
  std::vector<const ExecutionProvider*> providers;  // in priority order
  PackedWeights* packed_weights = nullptr;
  // Where plans count the constants they alone hold; may be null.
  std::shared_ptr<std::atomic<int64_t>> byte_counter;
  // The operator that changes layouts; null where no kernel asks for any but the plain one.
  const OpDef* reorder = nullptr;
  // Every node by its own kernel into memory of its own: no aliases, nothing in place.
  bool plain_memory = false;
};

// Chooses kernels and layouts, inserts reorders, aliases reshapes, reuses memory in place and
// plans the arena. UNIMPLEMENTED listing every node that no provider runs.
absl::StatusOr<std::shared_ptr<const Plan>> BuildPlan(const PlanSettings& settings,
                                                      Specialization segment, int threads);

}  // namespace inferd::engine
