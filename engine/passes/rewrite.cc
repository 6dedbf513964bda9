#include "engine/passes/rewrite.h"

#include <utility>

namespace inferd::engine {

std::vector<Node*> Rewriter::Snapshot() const {
  std::vector<Node*> nodes;
  nodes.reserve(graph_.nodes().size());
  for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
  return nodes;
}

bool Rewriter::IsInternal(const Value* value) const { return !graph_.IsOutput(value); }

bool Rewriter::HasOneUse(const Value* value) const {
  return value->uses().size() == 1 && IsInternal(value);
}

bool Rewriter::Forward(Value* from, Value* to) {
  if (graph_.IsOutput(from) && to->producer() == nullptr) return false;
  graph_.ReplaceAllUses(from, to);
  return true;
}

bool Rewriter::IsReplaceable(const Node* node) const {
  for (int i = 0; i < node->num_outputs(); ++i) {
    const Value* output = node->output(i);
    if (output == nullptr) continue;
    if (i > 0 && (!output->uses().empty() || graph_.IsOutput(output))) return false;
  }
  return node->output(0) != nullptr;
}

Node* Rewriter::Replace(Node* old, const OpDef& op, const std::string& name,
                        std::vector<Value*> inputs, Attributes attributes) {
  Value* from = old->output(0);
  Value* to = graph_.AddValue(from->name(), from->type());
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  Node* node = graph_.InsertNode(old, op, name, std::move(inputs), {to}, std::move(attributes));
  node->AddOrigins(*old);
  graph_.ReplaceAllUses(from, to);
  graph_.RemoveNode(old);
  return node;
}

void Rewriter::RemoveIfUnused(Node* node) {
  for (const Value* output : node->outputs()) {
    if (output != nullptr && (!output->uses().empty() || !IsInternal(output))) return;
  }
  graph_.RemoveNode(node);
}

bool IsOp(const Node* node, absl::string_view name) {
  if (node == nullptr) return false;
  constexpr absl::string_view kSeparator = "::";
  const size_t at = name.find(kSeparator);
  if (at == absl::string_view::npos) return node->op().domain.empty() && node->op().name == name;
  return node->op().domain == name.substr(0, at) &&
         node->op().name == name.substr(at + kSeparator.size());
}

bool IsFloat32(const Value* value) {
  return value != nullptr && value->type().is_tensor() &&
         value->type().element == ElementType::kFloat32;
}

const Tensor* FloatConstant(const Value* value) {
  if (value == nullptr || !value->is_constant()) return nullptr;
  return value->constant().type() == ElementType::kFloat32 ? &value->constant() : nullptr;
}

std::optional<float> ScalarConstant(const Value* value) {
  const Tensor* tensor = FloatConstant(value);
  if (tensor == nullptr || tensor->num_elements() != 1) return std::nullopt;
  return tensor->data<float>()[0];
}

std::optional<std::vector<float>> ChannelConstant(const Value* value, int rank, int64_t channels) {
  const Tensor* tensor = FloatConstant(value);
  if (tensor == nullptr || tensor->shape().rank() > rank) return std::nullopt;
  const Shape& shape = tensor->shape();
  const int missing = rank - shape.rank();
  for (int i = 0; i < shape.rank(); ++i) {
    const bool channel_axis = i + missing == 1;
    if (shape[i] != 1 && !(channel_axis && shape[i] == channels)) return std::nullopt;
  }
  if (tensor->num_elements() == 1) return std::vector<float>(channels, tensor->data<float>()[0]);
  const auto values = tensor->values<float>();
  return std::vector<float>(values.begin(), values.end());
}

bool SameKnownShape(const Value* a, const Value* b) {
  const SymbolicShape& x = a->type().shape;
  const SymbolicShape& y = b->type().shape;
  if (!x.has_rank() || !y.has_rank() || x.rank() != y.rank()) return false;
  for (int i = 0; i < x.rank(); ++i) {
    if (!x[i].known() && !x[i].symbolic()) return false;
    if (!(x[i] == y[i])) return false;
  }
  return true;
}

Value* AddVector(Graph& graph, const std::string& name, const std::vector<float>& values) {
  return graph.AddConstant(
      name, Tensor::FromValues<float>({static_cast<int64_t>(values.size())}, values));
}

}  // namespace inferd::engine
