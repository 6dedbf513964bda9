// Reshape, Flatten, Squeeze and Unsqueeze one after the other become one Reshape, or nothing where
// the last gives back the shape the first was given. Preserves every value bit by bit.
#include <optional>
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {
namespace {

bool IsView(const Node* node) {
  return node != nullptr && node->op().is_reshape && node->op().domain.empty();
}

// The shape as Reshape takes it; nullopt where more than one dimension is unknown. A zero would
// copy a dimension, and leave -1 without a size.
std::optional<std::vector<int64_t>> AsTarget(const SymbolicShape& shape) {
  if (!shape.has_rank()) return std::nullopt;
  std::vector<int64_t> target;
  int unknown = 0;
  for (const Dim& dim : shape.dims()) {
    if (dim == Dim(0)) return std::nullopt;
    unknown += dim.known() ? 0 : 1;
    target.push_back(dim.known() ? dim.value() : -1);
  }
  if (unknown > 1) return std::nullopt;
  return target;
}

}  // namespace

absl::StatusOr<int> MergeReshapes(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (!IsView(node) || !rewriter.IsReplaceable(node) || node->input(0) == nullptr) continue;
    Node* inner = node->input(0)->producer();
    if (!IsView(inner) || inner->input(0) == nullptr) continue;
    Value* x = inner->input(0);
    Value* y = node->output(0);
    if (SameKnownShape(x, y) && rewriter.Forward(y, x)) {
      rewriter.RemoveIfUnused(node);
      rewriter.RemoveIfUnused(inner);
      ++applied;
      continue;
    }
    const std::optional<std::vector<int64_t>> target = AsTarget(y->type().shape);
    if (!target.has_value()) continue;
    Value* shape = graph.AddConstant(
        y->name() + "_shape",
        Tensor::FromValues<int64_t>({static_cast<int64_t>(target->size())}, *target));
    Node* merged = rewriter.Replace(node, registry.Get("Reshape"), node->name(), {x, shape}, {});
    merged->AddOrigins(*inner);
    rewriter.RemoveIfUnused(inner);
    ++applied;
  }
  return applied;
}

}  // namespace inferd::engine
