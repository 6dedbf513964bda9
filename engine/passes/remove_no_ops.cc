// Removes nodes whose output equals one of their inputs. Preserves every value bit by bit.
#include <algorithm>
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {
namespace {

bool AllAre(const Value* value, int64_t wanted) {
  if (value == nullptr || !value->is_constant()) return false;
  const auto elements = ToInt64Vector(value->constant().view());
  return elements.ok() &&
         std::all_of(elements->begin(), elements->end(), [&](int64_t e) { return e == wanted; });
}

bool IsFalse(const Value* value) {
  if (value == nullptr) return true;
  if (!value->is_constant() || value->constant().type() != ElementType::kBool) return false;
  const auto values = value->constant().values<bool>();
  return std::none_of(values.begin(), values.end(), [](bool b) { return b; });
}

bool IsIdentityPermutation(const std::vector<int64_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Every dimension known, and the same on both sides.
bool SameConcreteShape(const Value* a, const Value* b) {
  const auto x = a->type().shape.concrete();
  const auto y = b->type().shape.concrete();
  return x.has_value() && y.has_value() && *x == *y;
}

bool PassesThrough(const Node& node) {
  const Value* x = node.input(0);
  const Value* y = node.output(0);
  if (x == nullptr || y == nullptr || !x->type().is_tensor() || !y->type().is_tensor()) {
    return false;
  }
  if (IsOp(&node, "Identity")) return true;
  if (IsOp(&node, "Dropout")) return IsFalse(node.input(2));
  if (IsOp(&node, "Cast")) {
    return x->type().element != ElementType::kUndefined && x->type().element == y->type().element;
  }
  if (IsOp(&node, "Transpose")) {
    const auto perm = node.attributes().GetInts("perm");
    return !perm.empty() && IsIdentityPermutation(perm);
  }
  if (IsOp(&node, "Pad")) return AllAre(node.input(1), 0);
  if (IsOp(&node, "Tile")) return AllAre(node.input(1), 1);
  if (IsOp(&node, "Concat") || IsOp(&node, "Sum") || IsOp(&node, "Max") || IsOp(&node, "Min") ||
      IsOp(&node, "Mean")) {
    return node.num_inputs() == 1;
  }
  if (node.op().is_reshape || IsOp(&node, "Expand")) return SameConcreteShape(x, y);
  return false;
}

// Transpose(Transpose(x)) as one Transpose of x.
bool MergeTransposes(Rewriter& rewriter, Node* node) {
  if (!IsOp(node, "Transpose") || !IsOp(node->input(0)->producer(), "Transpose")) return false;
  Node* inner = node->input(0)->producer();
  const auto outer_perm = node->attributes().GetInts("perm");
  const auto inner_perm = inner->attributes().GetInts("perm");
  if (outer_perm.empty() || outer_perm.size() != inner_perm.size()) return false;
  std::vector<int64_t> perm;
  for (int64_t axis : outer_perm) perm.push_back(inner_perm[axis]);
  node->attributes().Set("perm", perm);
  rewriter.graph().SetInput(node, 0, inner->input(0));
  node->AddOrigins(*inner);
  rewriter.RemoveIfUnused(inner);
  return true;
}

}  // namespace

absl::StatusOr<int> RemoveNoOps(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (MergeTransposes(rewriter, node)) ++applied;
    if (!PassesThrough(*node) || !rewriter.IsReplaceable(node)) continue;
    if (!rewriter.Forward(node->output(0), node->input(0))) continue;
    rewriter.RemoveIfUnused(node);
    ++applied;
  }
  return applied;
}

}  // namespace inferd::engine
