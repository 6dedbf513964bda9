// Conv followed by the addition of a tensor of its output's shape becomes inferd::FusedConv with a
// residual input. The fused node stands where the addition stood, so the other operand, often the
// result of a later node than the Conv, is there when it runs and its memory can become the
// output's. Preserves values up to the order of additions.
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"

namespace inferd::engine {
namespace {

bool TakesResidual(const Node* node) {
  if (!IsOp(node, "Conv") && !IsOp(node, "inferd::FusedConv")) return false;
  // An activation between the convolution and the addition keeps them apart.
  return node->input(3) == nullptr && !node->attributes().has("activations") &&
         FloatConstant(node->input(1)) != nullptr;
}

}  // namespace

absl::StatusOr<int> FuseResidualAdd(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    const bool sum = IsOp(node, "Add") || (IsOp(node, "Sum") && node->num_inputs() == 2);
    if (!sum || !rewriter.IsReplaceable(node)) continue;
    if (!SameKnownShape(node->input(0), node->input(1))) continue;
    for (int i : {1, 0}) {
      Value* x = node->input(i);
      Value* residual = node->input(1 - i);
      if (!TakesResidual(x->producer()) || !rewriter.HasOneUse(x) || residual->is_constant()) {
        continue;
      }
      Node* conv = x->producer();
      Node* fused = rewriter.Replace(node, registry.Get("FusedConv", kInferdDomain), conv->name(),
                                     {conv->input(0), conv->input(1), conv->input(2), residual},
                                     conv->attributes());
      fused->AddOrigins(*conv);
      rewriter.RemoveIfUnused(conv);
      ++applied;
      break;
    }
  }
  return applied;
}

}  // namespace inferd::engine
