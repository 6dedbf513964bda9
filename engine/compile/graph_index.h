// Dense numbers for the values and nodes of a graph, so that everything known about them during
// compilation lies in vectors.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/ir/graph.h"

namespace inferd::engine {

// Built once per model; constant after, so every method is thread-safe. The graph must outlive it
// and must not change.
class GraphIndex {
 public:
  static constexpr int kAbsent = -1;

  struct NodeEntry {
    const Node* node = nullptr;
    std::vector<int> inputs;   // value ids, kAbsent for a missing optional
    std::vector<int> outputs;  // value ids, kAbsent for an unused optional
  };

  explicit GraphIndex(const Graph& graph);

  const Graph& graph() const { return graph_; }
  int num_values() const { return static_cast<int>(values_.size()); }
  const Value& value(int id) const { return *values_[id]; }
  int id(const Value* value) const { return ids_.at(value); }

  // In topological order.
  const std::vector<NodeEntry>& nodes() const { return nodes_; }
  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<int>& outputs() const { return outputs_; }

  // Positions of graph inputs whose contents decide shapes downstream: small integer inputs that
  // reach a shape input of a node directly or through operators that only rearrange them. Plans
  // are keyed by their contents, which spares a segment.
  const std::vector<int>& shape_determining_inputs() const { return shape_determining_inputs_; }

 private:
  int Add(const Value* value);
  void FindShapeDeterminingInputs();

  const Graph& graph_;
  std::vector<const Value*> values_;
  absl::flat_hash_map<const Value*, int> ids_;
  std::vector<NodeEntry> nodes_;
  std::vector<int> inputs_;
  std::vector<int> outputs_;
  std::vector<int> shape_determining_inputs_;
};

}  // namespace inferd::engine
