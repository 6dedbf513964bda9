#include "engine/ir/graph.h"

#include <algorithm>
#include <cassert>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

struct Graph::Index {
  absl::flat_hash_map<std::string, Value*> by_name;
  // How often the graph itself returns a value; one value may be several outputs.
  absl::flat_hash_map<const Value*, int> output_count;
};

namespace {

void EraseUse(std::vector<Value::Use>& uses, const Value::Use& use) {
  auto it = std::find(uses.begin(), uses.end(), use);
  assert(it != uses.end());
  uses.erase(it);
}

}  // namespace

void Node::AddOrigins(const Node& other) {
  for (const std::string& origin : other.origins_) {
    if (std::find(origins_.begin(), origins_.end(), origin) == origins_.end()) {
      origins_.push_back(origin);
    }
  }
}

std::vector<std::shared_ptr<Graph>> Node::bodies() const {
  std::vector<std::shared_ptr<Graph>> found;
  for (const auto& [name, attribute] : attributes_) {
    if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute)) {
      found.push_back(*body);
    }
    if (const auto* several = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute)) {
      found.insert(found.end(), several->begin(), several->end());
    }
  }
  return found;
}

Graph::Graph(std::string name) : name_(std::move(name)), index_(std::make_unique<Index>()) {}
Graph::~Graph() = default;

std::string Graph::FreshName(absl::string_view wanted) const {
  if (!wanted.empty() && !index_->by_name.contains(wanted)) return std::string(wanted);
  const absl::string_view stem = wanted.empty() ? "t" : wanted;
  for (size_t i = values_.size();; ++i) {
    std::string name = absl::StrCat(stem, wanted.empty() ? "" : "_", i);
    if (!index_->by_name.contains(name)) return name;
  }
}

Value* Graph::NewValue(std::string name, ValueType type) {
  auto value = std::make_unique<Value>();
  value->name_ = std::move(name);
  if (value->name_.empty() || index_->by_name.contains(value->name_)) {
    value->name_ = FreshName(value->name_);
  }
  value->type_ = std::move(type);
  index_->by_name.emplace(value->name_, value.get());
  values_.push_back(std::move(value));
  return values_.back().get();
}

Value* Graph::AddInput(std::string name, ValueType type) {
  Value* value = NewValue(std::move(name), std::move(type));
  value->graph_input_ = true;
  inputs_.push_back(value);
  return value;
}

Value* Graph::AddConstant(std::string name, Tensor tensor) {
  Value* value = NewValue(std::move(name), ValueType::TensorOf(tensor.type(), tensor.shape()));
  value->constant_ = std::move(tensor);
  return value;
}

Value* Graph::AddCaptured(Value* outer) {
  for (Value* captured : captures_) {
    if (captured->captured_ == outer) return captured;
  }
  Value* value = NewValue(outer->name(), outer->type());
  value->captured_ = outer;
  captures_.push_back(value);
  return value;
}

Value* Graph::MakeCaptureInput(Value* outer) {
  auto it = std::find_if(captures_.begin(), captures_.end(),
                         [&](const Value* v) { return v->captured_ == outer; });
  if (it == captures_.end()) return AddInput(outer->name(), outer->type());
  Value* value = *it;
  captures_.erase(it);
  value->captured_ = nullptr;
  value->graph_input_ = true;
  inputs_.push_back(value);
  return value;
}

void Graph::BindInput(int i, Tensor tensor) {
  Value* value = inputs_[i];
  inputs_.erase(inputs_.begin() + i);
  value->graph_input_ = false;
  MakeConstant(value, std::move(tensor));
}

Value* Graph::AddValue(std::string name, ValueType type) {
  return NewValue(std::move(name), std::move(type));
}

Value* Graph::FindValue(absl::string_view name) const {
  auto it = index_->by_name.find(name);
  return it == index_->by_name.end() ? nullptr : it->second;
}

std::vector<const Value*> Graph::constants() const {
  std::vector<const Value*> found;
  for (const auto& value : values_) {
    if (value->is_constant()) found.push_back(value.get());
  }
  return found;
}

void Graph::AddOutput(Value* value, std::string public_name) {
  outputs_.push_back(value);
  if (public_name.empty()) public_name = value->name();
  output_names_.push_back(std::move(public_name));
  ++index_->output_count[value];
}

void Graph::ReplaceOutput(int i, Value* value) {
  Value* old = outputs_[i];
  if (--index_->output_count[old] == 0) index_->output_count.erase(old);
  outputs_[i] = value;
  ++index_->output_count[value];
}

bool Graph::IsOutput(const Value* value) const { return index_->output_count.contains(value); }

std::unique_ptr<Node> Graph::MakeNode(const OpDef& op, std::string name, std::vector<Value*> inputs,
                                      std::vector<Value*> outputs, Attributes attributes) {
  auto node = std::make_unique<Node>();
  node->op_ = &op;
  node->name_ = std::move(name);
  node->inputs_ = std::move(inputs);
  node->outputs_ = std::move(outputs);
  node->attributes_ = std::move(attributes);
  const int number = next_node_number_++;
  if (!node->name_.empty()) {
    node->display_name_ = absl::StrCat(node->name_, " (", op.name, ")");
  } else {
    absl::string_view first_output;
    for (const Value* output : node->outputs_) {
      if (output != nullptr) {
        first_output = output->name();
        break;
      }
    }
    node->display_name_ = absl::StrCat(op.name, "#", number, " (output \"", first_output, "\")");
  }
  node->origins_ = {node->name_.empty() ? node->display_name_ : node->name_};
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (node->inputs_[i] != nullptr) node->inputs_[i]->uses_.push_back({node.get(), i});
  }
  for (int i = 0; i < node->num_outputs(); ++i) {
    Value* output = node->outputs_[i];
    if (output == nullptr) continue;
    assert(output->producer_ == nullptr && !output->is_constant() && !output->is_graph_input());
    output->producer_ = node.get();
    output->producer_output_ = i;
  }
  return node;
}

Node* Graph::AddNode(const OpDef& op, std::string name, std::vector<Value*> inputs,
                     std::vector<Value*> outputs, Attributes attributes) {
  nodes_.push_back(
      MakeNode(op, std::move(name), std::move(inputs), std::move(outputs), std::move(attributes)));
  return nodes_.back().get();
}

Node* Graph::InsertNode(const Node* before, const OpDef& op, std::string name,
                        std::vector<Value*> inputs, std::vector<Value*> outputs,
                        Attributes attributes) {
  auto position =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& n) { return n.get() == before; });
  assert(position != nodes_.end());
  auto it = nodes_.insert(position, MakeNode(op, std::move(name), std::move(inputs),
                                             std::move(outputs), std::move(attributes)));
  return it->get();
}

void Graph::SetInput(Node* node, int i, Value* value) {
  if (i >= node->num_inputs()) node->inputs_.resize(i + 1, nullptr);
  if (Value* old = node->inputs_[i]) EraseUse(old->uses_, {node, i});
  node->inputs_[i] = value;
  if (value != nullptr) value->uses_.push_back({node, i});
  while (!node->inputs_.empty() && node->inputs_.back() == nullptr) node->inputs_.pop_back();
}

void Graph::SetOp(Node* node, const OpDef& op) { node->op_ = &op; }

void Graph::ReplaceAllUses(Value* from, Value* to) {
  if (from == to) return;
  for (const Value::Use& use : from->uses_) use.node->inputs_[use.input] = to;
  to->uses_.insert(to->uses_.end(), from->uses_.begin(), from->uses_.end());
  from->uses_.clear();
  if (!IsOutput(from)) return;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] == from) ReplaceOutput(static_cast<int>(i), to);
  }
}

void Graph::MakeConstant(Value* value, Tensor tensor) {
  if (Node* producer = value->producer_) {
    producer->outputs_[value->producer_output_] = nullptr;
    value->producer_ = nullptr;
  }
  value->type_ = ValueType::TensorOf(tensor.type(), tensor.shape());
  value->constant_ = std::move(tensor);
}

void Graph::RemoveNode(Node* node) {
  absl::flat_hash_set<const Value*> gone;
  for (Value* output : node->outputs_) {
    if (output == nullptr) continue;
    assert(output->uses_.empty() && !IsOutput(output));
    index_->by_name.erase(output->name_);
    gone.insert(output);
  }
  for (int i = 0; i < node->num_inputs(); ++i) {
    if (node->inputs_[i] != nullptr) EraseUse(node->inputs_[i]->uses_, {node, i});
  }
  std::erase_if(nodes_, [&](const auto& n) { return n.get() == node; });
  std::erase_if(values_, [&](const auto& v) { return gone.contains(v.get()); });
}

int Graph::RemoveDead() {
  auto needed = [&](const Value* v) { return v != nullptr && (!v->uses_.empty() || IsOutput(v)); };
  absl::flat_hash_set<const Node*> dead;
  // Backwards, so that a node's consumers have been judged before it.
  for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
    Node* node = it->get();
    if (std::any_of(node->outputs_.begin(), node->outputs_.end(), needed)) continue;
    dead.insert(node);
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (node->inputs_[i] != nullptr) EraseUse(node->inputs_[i]->uses_, {node, i});
    }
  }
  absl::flat_hash_set<const Value*> gone;
  for (const auto& value : values_) {
    const bool producer_dead = value->producer_ != nullptr && dead.contains(value->producer_);
    const bool orphan = value->producer_ == nullptr && !value->graph_input_ &&
                        value->captured_ == nullptr && !needed(value.get());
    if (producer_dead || orphan) {
      gone.insert(value.get());
      index_->by_name.erase(value->name_);
    }
  }
  std::erase_if(nodes_, [&](const auto& n) { return dead.contains(n.get()); });
  std::erase_if(values_, [&](const auto& v) { return gone.contains(v.get()); });
  return static_cast<int>(dead.size());
}

absl::Status Graph::SortTopologically() {
  // Kahn's algorithm; among ready nodes the earlier one goes first, so a sorted list stays as it
  // is.
  absl::flat_hash_map<const Node*, int> position;
  for (size_t i = 0; i < nodes_.size(); ++i) position[nodes_[i].get()] = static_cast<int>(i);
  std::vector<int> waiting_for(nodes_.size(), 0);
  std::vector<std::vector<int>> consumers(nodes_.size());
  auto depends = [&](int node, const Value* value) {
    if (value == nullptr || value->producer_ == nullptr) return;
    auto it = position.find(value->producer_);
    if (it == position.end()) return;
    consumers[it->second].push_back(node);
    ++waiting_for[node];
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    for (const Value* input : nodes_[i]->inputs_) depends(static_cast<int>(i), input);
  }
  std::vector<int> heap;  // min-heap of ready positions
  const auto later = std::greater<int>();
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (waiting_for[i] == 0) heap.push_back(static_cast<int>(i));
  }
  std::make_heap(heap.begin(), heap.end(), later);
  std::vector<int> order;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const int next = heap.back();
    heap.pop_back();
    order.push_back(next);
    for (int consumer : consumers[next]) {
      if (--waiting_for[consumer] == 0) {
        heap.push_back(consumer);
        std::push_heap(heap.begin(), heap.end(), later);
      }
    }
  }
  if (order.size() != nodes_.size()) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (waiting_for[i] > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the graph has a cycle through node ", nodes_[i]->display_name()));
      }
    }
  }
  std::vector<std::unique_ptr<Node>> sorted;
  sorted.reserve(nodes_.size());
  for (int i : order) sorted.push_back(std::move(nodes_[i]));
  nodes_ = std::move(sorted);
  return absl::OkStatus();
}

std::unique_ptr<Graph> Graph::Clone() const {
  auto copy = std::make_unique<Graph>(name_);
  absl::flat_hash_map<const Value*, Value*> map;
  for (const auto& value : values_) {
    Value* v = copy->NewValue(value->name_, value->type_);
    v->graph_input_ = value->graph_input_;
    v->captured_ = value->captured_;
    v->constant_ = value->constant_;
    map[value.get()] = v;
  }
  auto mapped = [&](Value* v) { return v == nullptr ? nullptr : map.at(v); };
  for (Value* v : inputs_) copy->inputs_.push_back(mapped(v));
  for (Value* v : captures_) copy->captures_.push_back(mapped(v));
  for (const auto& node : nodes_) {
    std::vector<Value*> inputs, outputs;
    for (Value* v : node->inputs_) inputs.push_back(mapped(v));
    for (Value* v : node->outputs_) outputs.push_back(mapped(v));
    Node* n = copy->AddNode(*node->op_, node->name_, std::move(inputs), std::move(outputs),
                            node->attributes_);
    n->display_name_ = node->display_name_;
    n->origins_ = node->origins_;
  }
  copy->next_node_number_ = next_node_number_;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    copy->AddOutput(mapped(outputs_[i]), output_names_[i]);
  }
  return copy;
}

}  // namespace inferd::engine
