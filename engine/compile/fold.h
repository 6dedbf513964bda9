// Evaluation of one node while planning.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "engine/ir/graph.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

class Kernel;

// True for operators whose result follows from the shape of their inputs alone (Shape, Size).
bool DependsOnShapesOnly(const OpDef& op);

// Runs the reference kernel of `node`, an operator whose results are all tensors. `inputs` has
// one view per operand; absent ones have an undefined type, and for DependsOnShapesOnly operators
// data may be null. `outputs` gives type and shape of each result, undefined where absent; shapes
// are ignored for dynamic_outputs.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node,
                                                 const std::vector<TensorView>& inputs,
                                                 const std::vector<TensorView>& outputs);

// Runs a kernel once, on this thread, with operands whose memory the caller provides.
absl::Status RunKernelOnce(const Kernel& kernel, const std::vector<TensorView>& inputs,
                           const std::vector<TensorView>& outputs);

}  // namespace inferd::engine
