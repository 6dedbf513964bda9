// MatMul followed by the addition of a vector along its last axis becomes inferd::FusedMatMul with
// a bias. Preserves values bit by bit in the reference kernels; fast kernels may round once less.
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"

namespace inferd::engine {
namespace {

// The addend as a vector of n elements: itself, or a constant with leading ones dropped.
Value* AsBias(Rewriter& rewriter, Value* addend, int result_rank, int64_t n) {
  if (!IsFloat32(addend)) return nullptr;
  const auto shape = addend->type().shape.concrete();
  if (!shape.has_value() || shape->rank() == 0 || shape->rank() > result_rank) return nullptr;
  if ((*shape)[shape->rank() - 1] != n || shape->NumElements() != n) return nullptr;
  if (shape->rank() == 1) return addend;
  if (!addend->is_constant()) return nullptr;
  return rewriter.graph().AddConstant(addend->name(), addend->constant().Reshaped({n}));
}

}  // namespace

absl::StatusOr<int> FuseMatMulBias(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (!IsOp(node, "Add") || !rewriter.IsReplaceable(node)) continue;
    for (int i = 0; i < 2; ++i) {
      Value* x = node->input(i);
      if (!IsOp(x->producer(), "MatMul") || !rewriter.HasOneUse(x) || !IsFloat32(x)) continue;
      Node* matmul = x->producer();
      const SymbolicShape& a = matmul->input(0)->type().shape;
      const SymbolicShape& b = matmul->input(1)->type().shape;
      if (!a.has_rank() || !b.has_rank() || a.rank() < 2 || b.rank() < 2) continue;
      const Dim n = b[b.rank() - 1];
      if (!n.known()) continue;
      Value* bias = AsBias(rewriter, node->input(1 - i), std::max(a.rank(), b.rank()), n.value());
      if (bias == nullptr) continue;
      Node* fused =
          rewriter.Replace(node, registry.Get("FusedMatMul", kInferdDomain), matmul->name(),
                           {matmul->input(0), matmul->input(1), bias}, {});
      fused->AddOrigins(*matmul);
      rewriter.RemoveIfUnused(matmul);
      ++applied;
      break;
    }
  }
  return applied;
}

}  // namespace inferd::engine
