#include "engine/compile/graph_index.h"

#include <algorithm>
#include <array>

#include "absl/strings/string_view.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

// Operators a shape passes through on its way from a graph input to the node that uses it.
bool RearrangesItsInputs(const OpDef& op) {
  static constexpr std::array<absl::string_view, 7> kNames = {
      "Cast", "Concat", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  return op.domain.empty() && std::find(kNames.begin(), kNames.end(), op.name) != kNames.end();
}

}  // namespace

GraphIndex::GraphIndex(const Graph& graph) : graph_(graph) {
  for (const Value* input : graph.inputs()) inputs_.push_back(Add(input));
  nodes_.reserve(graph.nodes().size());
  for (const auto& node : graph.nodes()) {
    NodeEntry entry;
    entry.node = node.get();
    for (const Value* v : node->inputs()) entry.inputs.push_back(v ? Add(v) : kAbsent);
    for (const Value* v : node->outputs()) entry.outputs.push_back(v ? Add(v) : kAbsent);
    nodes_.push_back(std::move(entry));
  }
  for (const Value* output : graph.outputs()) outputs_.push_back(Add(output));
  FindShapeDeterminingInputs();
}

int GraphIndex::Add(const Value* value) {
  auto [it, inserted] = ids_.try_emplace(value, num_values());
  if (inserted) values_.push_back(value);
  return it->second;
}

void GraphIndex::FindShapeDeterminingInputs() {
  std::vector<bool> decides(num_values(), false);
  for (auto it = nodes_.rbegin(); it != nodes_.rend(); ++it) {
    const OpDef& op = it->node->op();
    for (int i : op.shape_inputs) {
      if (i < static_cast<int>(it->inputs.size()) && it->inputs[i] != kAbsent) {
        decides[it->inputs[i]] = true;
      }
    }
    if (!RearrangesItsInputs(op)) continue;
    const bool passes_on = std::any_of(it->outputs.begin(), it->outputs.end(),
                                       [&](int id) { return id != kAbsent && decides[id]; });
    if (!passes_on) continue;
    for (int id : it->inputs) {
      if (id != kAbsent) decides[id] = true;
    }
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const ValueType& type = value(inputs_[i]).type();
    if (decides[inputs_[i]] && type.is_tensor() && type.element != ElementType::kString) {
      shape_determining_inputs_.push_back(static_cast<int>(i));
    }
  }
}

}  // namespace inferd::engine
