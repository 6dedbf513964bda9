// The graph IR: values in SSA form, nodes that compute them, and the edits passes make.
//
// A Graph owns its nodes and values; pointers to them stay valid until they are removed. Node
// inputs may be null (an absent optional input), and so may node outputs (an unused optional
// output). Nodes are kept in an order in which every value is produced before it is used; edits
// keep it so, or call SortTopologically(). Not thread-safe; const access is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/ir/attribute.h"
#include "engine/ir/value_type.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

struct OpDef;  // engine/ops/op_def.h
class Graph;
class Node;

// A value: a graph input, an initializer (constant), or an output of a node.
class Value {
 public:
  // Where one use of the value stands.
  struct Use {
    Node* node;
    int input;
    bool operator==(const Use&) const = default;
  };

  const std::string& name() const { return name_; }
  ValueType& type() { return type_; }
  const ValueType& type() const { return type_; }

  // The node that computes it; null for graph inputs, constants and, in a subgraph, values
  // captured from outside.
  Node* producer() const { return producer_; }
  int producer_output() const { return producer_output_; }
  // Defined for initializers and folded values.
  const Tensor& constant() const { return constant_; }
  bool is_constant() const { return constant_.defined(); }
  bool is_graph_input() const { return graph_input_; }
  // In a body that is being imported: the value of the enclosing graph this one stands for; null
  // otherwise. A captured value has no producer here.
  Value* captured() const { return captured_; }

  // Uses by nodes of the same graph. Graph outputs are not uses: see Graph::IsOutput.
  const std::vector<Use>& uses() const { return uses_; }

 private:
  friend class Graph;
  friend class Node;
  std::string name_;
  ValueType type_;
  Node* producer_ = nullptr;
  int producer_output_ = 0;
  bool graph_input_ = false;
  Value* captured_ = nullptr;
  Tensor constant_;
  std::vector<Use> uses_;
};

class Node {
 public:
  // The operator, already resolved to its one internal form.
  const OpDef& op() const { return *op_; }
  const std::string& name() const { return name_; }
  // How messages name this node: "conv1 (Conv)" or, unnamed, `MatMul#17 (output "t5")`.
  const std::string& display_name() const { return display_name_; }
  // Names of the model's nodes this one was made from; more than one after a fusion.
  const std::vector<std::string>& origins() const { return origins_; }
  void AddOrigins(const Node& other);

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  // Null where i is past the end or the optional input is absent.
  Value* input(int i) const { return i < num_inputs() ? inputs_[i] : nullptr; }
  Value* output(int i) const { return i < num_outputs() ? outputs_[i] : nullptr; }
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }

  const Attributes& attributes() const { return attributes_; }
  Attributes& attributes() { return attributes_; }
  // The graphs among the attributes, in attribute order: what the node runs by itself.
  std::vector<std::shared_ptr<Graph>> bodies() const;

 private:
  friend class Graph;
  const OpDef* op_ = nullptr;
  std::string name_;
  std::string display_name_;
  std::vector<std::string> origins_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  Attributes attributes_;
};

class Graph {
 public:
  explicit Graph(std::string name = {});
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  const std::string& name() const { return name_; }

  // Values. An empty or taken name is replaced by a fresh one derived from it.
  Value* AddInput(std::string name, ValueType type);
  Value* AddConstant(std::string name, Tensor tensor);
  // A value of the enclosing graph used inside this body, until its node is made: see
  // engine/ir/lift_captures.h.
  Value* AddCaptured(Value* outer);
  // The input that carries `outer` from now on, in the place of the captured value if there is one.
  Value* MakeCaptureInput(Value* outer);
  // Input i has this value on every run: a constant, and no input any more.
  void BindInput(int i, Tensor tensor);
  // For values the importer meets before their producer, and for new node outputs.
  Value* AddValue(std::string name, ValueType type = {});
  Value* FindValue(absl::string_view name) const;  // null where there is none
  // Initializers and folded values, in the order they were added.
  std::vector<const Value*> constants() const;

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  const std::vector<Value*>& captures() const { return captures_; }
  // The public name of output i: what clients ask for, kept whatever passes do to the value.
  const std::string& output_name(int i) const { return output_names_[i]; }
  void AddOutput(Value* value, std::string public_name = {});
  void ReplaceOutput(int i, Value* value);
  bool IsOutput(const Value* value) const;

  // Nodes, in topological order. AddNode appends; `outputs` must have no producer yet.
  Node* AddNode(const OpDef& op, std::string name, std::vector<Value*> inputs,
                std::vector<Value*> outputs, Attributes attributes = {});
  // As AddNode, placed just before `before`.
  Node* InsertNode(const Node* before, const OpDef& op, std::string name,
                   std::vector<Value*> inputs, std::vector<Value*> outputs,
                   Attributes attributes = {});
  absl::Span<const std::unique_ptr<Node>> nodes() const { return nodes_; }

  // Edits.
  void SetInput(Node* node, int i, Value* value);  // grows the input list; value may be null
  // The node computes another operator from now on; inputs and outputs stay.
  void SetOp(Node* node, const OpDef& op);
  // Every use of `from`, graph outputs included, uses `to` instead.
  void ReplaceAllUses(Value* from, Value* to);
  // Turns the output of a node into a constant; the producer loses that output.
  void MakeConstant(Value* value, Tensor tensor);
  // Removes a node none of whose outputs is used. Its outputs go too.
  void RemoveNode(Node* node);
  // Removes nodes and constants nothing uses, transitively. Returns how many nodes went.
  int RemoveDead();
  // INVALID_ARGUMENT naming a node on the cycle where there is no order.
  absl::Status SortTopologically();

  std::unique_ptr<Graph> Clone() const;

 private:
  Value* NewValue(std::string name, ValueType type);
  std::string FreshName(absl::string_view wanted) const;
  std::unique_ptr<Node> MakeNode(const OpDef& op, std::string name, std::vector<Value*> inputs,
                                 std::vector<Value*> outputs, Attributes attributes);

  std::string name_;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::vector<std::string> output_names_;
  std::vector<Value*> captures_;
  struct Index;
  std::unique_ptr<Index> index_;  // name -> value, node -> position
  int next_node_number_ = 0;
};

// Checks every invariant above, and each node against its operator's schema: arity, attribute
// kinds, element types. INTERNAL with the first violation; for tests and after each pass.
absl::Status Verify(const Graph& graph);

}  // namespace inferd::engine
