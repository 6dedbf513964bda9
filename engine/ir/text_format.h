// Graphs as text, for tests, dumps and people. Printing and parsing round-trip, constants above
// `max_elements` excepted.
//
//   graph mlp (x: float[batch,4]) -> (y) {
//     w = constant float[4,2] {1,2,3,4,5,6,7,8}
//     h = MatMul(x, w)
//     y = Relu(h)
//     a, b = Split{axis=1, num_outputs=2}(y)
//     z = com.microsoft::FusedMatMul{alpha=0.5}(a, b)
//     r = Resize{mode="nearest"}(y, _, s)          # "_" is an absent optional input
//   }
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ir/graph.h"

namespace inferd::engine {

class OpRegistry;

std::string PrintGraph(const Graph& graph, int64_t max_elements = 16);
// Errors name line and column. Operators are the internal forms in `registry`.
absl::StatusOr<std::unique_ptr<Graph>> ParseGraph(absl::string_view text,
                                                  const OpRegistry& registry);

}  // namespace inferd::engine
