// Which pass or which node makes an optimized model give other numbers than its reference.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/tensor/tensor_comparison.h"
#include "engine/ir/graph.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

struct BisectOptions {
  std::vector<std::string> disabled_passes;
  int threads = 1;
  Tolerance tolerance;
};

struct Culprit {
  // The first step of the passes after which outputs diverge; 0: they diverge without any pass, -1:
  // they do not diverge.
  int step = -1;
  std::string pass;  // of that step
  // Nodes to look at: of a wrong rewrite those the step made, of a wrong kernel the first whose
  // value diverges.
  std::vector<std::string> nodes;
  std::string sentence;  // all of that, for people
};

// `graph` is a model as imported, `reference` its expected outputs for `inputs`. The search assumes
// that what one step breaks no later step mends.
absl::StatusOr<Culprit> FindCulprit(const Graph& graph, absl::Span<const Tensor> inputs,
                                    absl::Span<const Tensor> reference,
                                    const BisectOptions& options);

// Runs a graph once as it is: no passes. Reference kernels where `eager`.
absl::StatusOr<std::vector<Tensor>> RunGraph(std::unique_ptr<Graph> graph, bool eager,
                                             absl::Span<const Tensor> inputs, int threads);

}  // namespace inferd::engine
