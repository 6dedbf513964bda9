// Computes one node from constant inputs with its reference kernel. Internal to engine/passes.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "engine/ir/graph.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// One tensor per output, undefined where the output is absent. Every present input must be
// constant and every output's type a tensor. Shapes of outputs come from the values' types; an
// operator with dynamic_outputs says them itself.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node);

}  // namespace inferd::engine
