// Reshape [N, C, ...] to [N, g, C / g, ...], Transpose of axes 1 and 2, Reshape back: one
// inferd::ChannelShuffle, which runs in the layout its neighbours have. Preserves every value bit
// by bit.
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"

namespace inferd::engine {
namespace {

bool SwapsAxesOneAndTwo(const std::vector<int64_t>& perm) {
  if (perm.size() < 3) return false;
  for (size_t i = 0; i < perm.size(); ++i) {
    const int64_t expected = i == 1 ? 2 : (i == 2 ? 1 : static_cast<int64_t>(i));
    if (perm[i] != expected) return false;
  }
  return true;
}

bool Same(const Dim& a, const Dim& b) { return (a.known() || a.symbolic()) && a == b; }

// The group count when x -> split -> ... -> y is the pattern; 0 otherwise. The batch dimension may
// be unknown: every other dimension being equal, so is it.
int64_t GroupOf(const Value* x, const Value* split, const Value* y) {
  const SymbolicShape& from = x->type().shape;
  const SymbolicShape& middle = split->type().shape;
  const SymbolicShape& to = y->type().shape;
  if (!from.has_rank() || !middle.has_rank() || !to.has_rank()) return 0;
  if (from.rank() < 3 || middle.rank() != from.rank() + 1 || to.rank() != from.rank()) return 0;
  if (!middle[1].known() || !middle[2].known() || !from[1].known()) return 0;
  if (middle[1].value() * middle[2].value() != from[1].value() || !Same(from[1], to[1])) return 0;
  for (int i = 2; i < from.rank(); ++i) {
    if (!Same(from[i], middle[i + 1]) || !Same(from[i], to[i])) return 0;
  }
  return middle[1].value();
}

}  // namespace

absl::StatusOr<int> FuseChannelShuffle(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (!IsOp(node, "Reshape") || !rewriter.IsReplaceable(node)) continue;
    Node* transpose = node->input(0)->producer();
    if (!IsOp(transpose, "Transpose") || !rewriter.HasOneUse(node->input(0))) continue;
    if (!SwapsAxesOneAndTwo(transpose->attributes().GetInts("perm"))) continue;
    Node* split = transpose->input(0)->producer();
    if (!IsOp(split, "Reshape") || !rewriter.HasOneUse(transpose->input(0))) continue;
    Value* x = split->input(0);
    if (!IsFloat32(x)) continue;
    const int64_t group = GroupOf(x, split->output(0), node->output(0));
    if (group == 0) continue;
    Attributes attributes;
    attributes.Set("group", group);
    Node* shuffle = rewriter.Replace(node, registry.Get("ChannelShuffle", kInferdDomain),
                                     transpose->name(), {x}, std::move(attributes));
    shuffle->AddOrigins(*split);
    shuffle->AddOrigins(*transpose);
    rewriter.RemoveIfUnused(transpose);
    rewriter.RemoveIfUnused(split);
    ++applied;
  }
  return applied;
}

}  // namespace inferd::engine
