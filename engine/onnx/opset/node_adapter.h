// How one node is rewritten from the opset it was written for to the engine's internal form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/ir/graph.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Where the nodes that a rewrite adds go.
class NodeSink {
 public:
  virtual ~NodeSink() = default;
  // Appends a node with one output and returns it, with its type where that can be inferred.
  virtual Value* AddNode(absl::string_view domain, absl::string_view op, std::vector<Value*> inputs,
                         Attributes attributes) = 0;
  virtual Value* AddConstant(absl::string_view role, Tensor tensor) = 0;
  // A sentence for the user; each is kept once.
  virtual void AddNote(std::string note) = 0;
};

// A node on its way in. Rules (opset/rules.h) change the public members in place; what they hold
// at the end is built under the model's name for the node, after every node the rule emitted.
class NodeAdapter {
 public:
  NodeAdapter(NodeSink& sink, int64_t opset, std::string display_name)
      : sink_(sink), opset_(opset), display_name_(std::move(display_name)) {}

  std::string domain;  // canonical
  std::string op;
  std::vector<Value*> inputs;  // null: absent
  Attributes attributes;
  // For each output whether the model reads it. A rule may drop trailing unused ones.
  std::vector<bool> output_used;

  int64_t opset() const { return opset_; }
  const std::string& display_name() const { return display_name_; }

  Value* input(size_t i) const { return i < inputs.size() ? inputs[i] : nullptr; }
  // Grows the list where needed.
  void SetInput(size_t i, Value* value);
  // INVALID_ARGUMENT naming the input where it is absent.
  absl::Status RequireInput(size_t i, absl::string_view name) const;

  // Takes an attribute out; the default where it is absent. Another kind than T is left in place,
  // for the check against the operator's schema to report.
  template <typename T>
  std::optional<T> TakeAttribute(absl::string_view name) {
    const T* found = attributes.Get<T>(name);
    if (found == nullptr) return std::nullopt;
    std::optional<T> value = *found;
    attributes.Erase(name);
    return value;
  }

  // Adds a node in ai.onnx before this one and returns its output.
  Value* Emit(absl::string_view op_name, std::vector<Value*> op_inputs, Attributes attrs = {});
  Value* Constant(absl::string_view role, Tensor tensor);
  // A one-dimensional int64 constant.
  Value* Ints(absl::string_view role, const std::vector<int64_t>& values);
  // A scalar of the element type of `like`, or one cast to it where that is not known yet.
  Value* ScalarLike(absl::string_view role, float value, Value* like);
  // The node becomes another operator altogether.
  void Become(absl::string_view op_name, std::vector<Value*> new_inputs, Attributes attrs = {});

  // After the node, output i goes through this operator before the model sees it.
  struct After {
    size_t output;
    std::string op;
    Attributes attributes;
  };
  std::vector<After> after;

  // Output i of the operator is output output_order[i] of the model's node, or none of them where
  // that is -1. Empty: in order.
  std::vector<int> output_order;

  // An output of the model's node that is a value computed before it.
  struct Alias {
    size_t output;
    Value* value;
  };
  std::vector<Alias> aliases;

  // What is known about a value.
  static ElementType ElementOf(const Value* value) { return value->type().element; }
  static std::optional<int> RankOf(const Value* value);
  static const Tensor* ConstantOf(const Value* value);

  void Note(std::string note) { sink_.AddNote(std::move(note)); }

 private:
  NodeSink& sink_;
  int64_t opset_;
  std::string display_name_;
};

}  // namespace inferd::engine
