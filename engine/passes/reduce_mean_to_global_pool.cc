// ReduceMean over all spatial axes of [N, C, ...] is GlobalAveragePool, which runs in the layout of
// the convolutions around it; without kept dimensions a Flatten follows. Preserves values up to the
// order of additions.
#include <algorithm>
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {
namespace {

// The constant axes, when they are exactly 2 .. rank - 1 in any order and sign.
bool ReducesSpatialAxes(const Node& node, int rank) {
  if (node.input(1) == nullptr || !node.input(1)->is_constant()) return false;
  auto axes = ToInt64Vector(node.input(1)->constant().view());
  if (!axes.ok() || static_cast<int>(axes->size()) != rank - 2) return false;
  for (int64_t& axis : *axes) axis = axis < 0 ? axis + rank : axis;
  std::sort(axes->begin(), axes->end());
  for (size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != static_cast<int64_t>(i) + 2) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<int> ReduceMeanToGlobalPool(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (!IsOp(node, "ReduceMean") || !rewriter.IsReplaceable(node)) continue;
    Value* x = node->input(0);
    if (!IsFloat32(x) || !x->type().shape.has_rank()) continue;
    const int rank = x->type().shape.rank();
    if (rank < 3 || !ReducesSpatialAxes(*node, rank)) continue;
    const OpDef& pool = registry.Get("GlobalAveragePool");
    if (node->attributes().GetInt("keepdims", 1) != 0) {
      rewriter.Replace(node, pool, node->name(), {x}, {});
    } else {
      Value* pooled = graph.AddValue(node->output(0)->name() + "_pooled", x->type());
      Node* inner = graph.InsertNode(node, pool, node->name(), {x}, {pooled});
      inner->AddOrigins(*node);
      Attributes attributes;
      attributes.Set("axis", int64_t{1});
      rewriter.Replace(node, registry.Get("Flatten"), node->name() + "_flatten", {pooled},
                       std::move(attributes));
    }
    ++applied;
  }
  return applied;
}

}  // namespace inferd::engine
