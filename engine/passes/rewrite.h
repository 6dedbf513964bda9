// What several passes need to match and to replace nodes. Internal to engine/passes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/ir/graph.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// A graph under rewriting by one pass. Nodes are visited in a snapshot of their order; a rewrite
// may remove the visited node and earlier ones, so that no removed node is visited.
class Rewriter {
 public:
  Rewriter(Graph& graph, const OpRegistry& registry) : graph_(graph), registry_(registry) {}

  Graph& graph() { return graph_; }
  const OpRegistry& registry() const { return registry_; }
  std::vector<Node*> Snapshot() const;

  // True where `value` is used once and is no graph output, so that it need not exist after its
  // consumer is rewritten.
  bool HasOneUse(const Value* value) const;
  // True where nothing but nodes uses the value: it is no graph output.
  bool IsInternal(const Value* value) const;
  // All uses of `from` become uses of `to`. False, and nothing done, where the graph's output would
  // become an input or a constant.
  bool Forward(Value* from, Value* to);

  // Puts a node of operator `op` in the place of `old`, with a new output of old's type that takes
  // over all uses of old's output 0, and removes `old`. Origins of `old` go over. `name` is that
  // of the new node. Call only where IsReplaceable(old).
  Node* Replace(Node* old, const OpDef& op, const std::string& name, std::vector<Value*> inputs,
                Attributes attributes);
  // One output in use.
  bool IsReplaceable(const Node* node) const;
  // Removes the node where nothing uses its outputs any more.
  void RemoveIfUnused(Node* node);

 private:
  Graph& graph_;
  const OpRegistry& registry_;
};

// The node is this operator; `name` as OpDef::qualified_name(), e.g. "inferd::FusedConv".
bool IsOp(const Node* node, absl::string_view name);

// A float32 constant, else null.
const Tensor* FloatConstant(const Value* value);
bool IsFloat32(const Value* value);

// The one value of a float32 constant with a single element.
std::optional<float> ScalarConstant(const Value* value);

// A constant that broadcasts over [N, channels, ...] of the given rank along axis 1 alone
// ([C,1,1], [1,C,1,1] or a single element), as one number per channel.
std::optional<std::vector<float>> ChannelConstant(const Value* value, int rank, int64_t channels);

// Known and equal in every dimension; symbols of the same name count as equal.
bool SameKnownShape(const Value* a, const Value* b);

// Adds a rank-1 float32 constant.
Value* AddVector(Graph& graph, const std::string& name, const std::vector<float>& values);

}  // namespace inferd::engine
