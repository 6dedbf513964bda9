// Maps in tensor form, for those who can only hand tensors on.
#pragma once

#include <string>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// Every graph output that ZipMap makes becomes, under the same name, the tensor ZipMap reads: a
// column for each class where there was a map for each row. Returns a sentence for each, with the
// classes in the order of the columns. No part of RunPasses: it changes what the model's clients
// see. Other outputs and the rest of the graph stay as they are.
std::vector<std::string> MapOutputsToTensors(Graph& graph, const OpRegistry& registry);

}  // namespace inferd::engine
