// An If whose condition is known gives way to the nodes of the branch it takes. Preserves every
// value: the same nodes run on the same inputs.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"

namespace inferd::engine {
namespace {

// True or false where the node is an If that can be inlined.
std::optional<bool> KnownCondition(const Graph& graph, const Node& node) {
  if (!IsOp(&node, "If")) return std::nullopt;
  const Value* condition = node.input(0);
  if (!condition->is_constant() || condition->constant().type() != ElementType::kBool ||
      condition->constant().num_elements() != 1) {
    return std::nullopt;
  }
  const bool value = condition->constant().data<bool>()[0];
  const auto& branch =
      *node.attributes().Get<std::shared_ptr<Graph>>(value ? "then_branch" : "else_branch");
  // An output that is an input or a constant of the branch would make one of the graph's outputs
  // an input or a constant.
  for (int i = 0; i < node.num_outputs(); ++i) {
    if (node.output(i) != nullptr && graph.IsOutput(node.output(i)) &&
        branch->outputs()[i]->producer() == nullptr) {
      return std::nullopt;
    }
  }
  return value;
}

void Inline(Graph& graph, Node* node, const Graph& branch) {
  absl::flat_hash_map<const Value*, Value*> here;
  for (size_t i = 0; i < branch.inputs().size(); ++i) {
    here[branch.inputs()[i]] = node->input(1 + static_cast<int>(i));
  }
  for (const Value* constant : branch.constants()) {
    here[constant] = graph.AddConstant(constant->name(), constant->constant());
  }
  const auto mapped = [&](const Value* v) { return v == nullptr ? nullptr : here.at(v); };
  for (const auto& inner : branch.nodes()) {
    std::vector<Value*> inputs, outputs;
    for (const Value* v : inner->inputs()) inputs.push_back(mapped(v));
    for (const Value* v : inner->outputs()) {
      outputs.push_back(v == nullptr ? nullptr : graph.AddValue(v->name(), v->type()));
      if (v != nullptr) here[v] = outputs.back();
    }
    const std::string name = inner->name().empty() || node->name().empty()
                                 ? inner->name()
                                 : absl::StrCat(node->name(), "/", inner->name());
    Node* copy = graph.InsertNode(node, inner->op(), name, std::move(inputs), std::move(outputs),
                                  inner->attributes());
    copy->AddOrigins(*inner);
  }
  for (int i = 0; i < node->num_outputs(); ++i) {
    if (node->output(i) != nullptr) {
      graph.ReplaceAllUses(node->output(i), mapped(branch.outputs()[i]));
    }
  }
  graph.RemoveNode(node);
}

}  // namespace

absl::StatusOr<int> InlineConstantIf(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    const std::optional<bool> condition = KnownCondition(graph, *node);
    if (!condition.has_value()) continue;
    // Kept alive while the node that holds it goes.
    const std::shared_ptr<Graph> branch =
        *node->attributes().Get<std::shared_ptr<Graph>>(*condition ? "then_branch" : "else_branch");
    Inline(graph, node, *branch);
    ++applied;
  }
  return applied;
}

}  // namespace inferd::engine
