// An activation moves into the Conv, Gemm, MatMul, addition or ScaleShift whose only consumer it
// is; several in a row form a chain. Preserves values: the fused reference kernels compute the same
// function elementwise.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/ops/fused_activation.h"
#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

struct Match {
  Value* x;  // the activation's argument
  Activation activation;
  Node* extra = nullptr;  // a node that goes with it: Sigmoid of x * Sigmoid(x)
};

std::optional<Activation> MatchUnary(const Node& node) {
  const Attributes& a = node.attributes();
  using Kind = ActivationKind;
  if (IsOp(&node, "Relu")) return Activation{Kind::kRelu};
  if (IsOp(&node, "LeakyRelu")) return Activation{Kind::kLeakyRelu, a.GetFloat("alpha", 0.01f)};
  if (IsOp(&node, "Sigmoid")) return Activation{Kind::kSigmoid};
  if (IsOp(&node, "Tanh")) return Activation{Kind::kTanh};
  if (IsOp(&node, "Elu")) return Activation{Kind::kElu, a.GetFloat("alpha", 1.0f)};
  if (IsOp(&node, "HardSigmoid")) {
    return Activation{Kind::kHardSigmoid, a.GetFloat("alpha", 0.2f), a.GetFloat("beta", 0.5f)};
  }
  if (IsOp(&node, "HardSwish")) return Activation{Kind::kHardSwish};
  if (IsOp(&node, "Softplus")) return Activation{Kind::kSoftplus};
  if (IsOp(&node, "Mish")) return Activation{Kind::kMish};
  if (IsOp(&node, "Swish") && a.GetFloat("alpha", 1.0f) == 1.0f) return Activation{Kind::kSilu};
  if (IsOp(&node, "Gelu")) {
    return Activation{a.GetString("approximate", "none") == "tanh" ? Kind::kGeluTanh : Kind::kGelu};
  }
  if (IsOp(&node, "Clip")) {
    Activation clip{Kind::kClip, std::numeric_limits<float>::lowest(),
                    std::numeric_limits<float>::max()};
    for (int i : {1, 2}) {
      if (node.input(i) == nullptr) continue;
      const std::optional<float> bound = ScalarConstant(node.input(i));
      if (!bound.has_value()) return std::nullopt;
      (i == 1 ? clip.alpha : clip.beta) = *bound;
    }
    // An open end keeps infinities, which no finite bound does.
    if (node.input(1) == nullptr) clip.alpha = -std::numeric_limits<float>::infinity();
    if (node.input(2) == nullptr) clip.beta = std::numeric_limits<float>::infinity();
    return clip;
  }
  return std::nullopt;
}

// The activation that x * gate(x) is.
std::optional<Activation> MatchGate(const Node* gate) {
  if (IsOp(gate, "Sigmoid")) return Activation{ActivationKind::kSilu};
  if (IsOp(gate, "HardSigmoid")) {
    const float alpha = gate->attributes().GetFloat("alpha", 0.2f);
    const float beta = gate->attributes().GetFloat("beta", 0.5f);
    // Exporters write 1/6 with as many digits as they like.
    if (std::abs(alpha - 1.0f / 6.0f) < 1e-6f && beta == 0.5f) {
      return Activation{ActivationKind::kHardSwish};
    }
  }
  return std::nullopt;
}

// x * gate(x), operands in either order.
std::optional<Match> MatchGated(const Rewriter& rewriter, const Node& node) {
  if (!IsOp(&node, "Mul")) return std::nullopt;
  for (int i : {0, 1}) {
    Value* x = node.input(i);
    Node* gate = node.input(1 - i)->producer();
    const std::optional<Activation> activation = gate == nullptr ? std::nullopt : MatchGate(gate);
    if (x == nullptr || !activation.has_value() || gate->input(0) != x) continue;
    if (!rewriter.HasOneUse(gate->output(0))) continue;
    if (x->uses().size() != 2 || !rewriter.IsInternal(x)) continue;
    return Match{x, *activation, gate};
  }
  return std::nullopt;
}

std::optional<Match> MatchActivation(const Rewriter& rewriter, const Node& node) {
  if (std::optional<Match> gated = MatchGated(rewriter, node)) return gated;
  std::optional<Activation> activation = MatchUnary(node);
  Value* x = node.input(0);
  if (x == nullptr || !activation.has_value() || !rewriter.HasOneUse(x)) return std::nullopt;
  return Match{x, *activation};
}

// The fused operator that computes `producer` with activations, or null.
const OpDef* FusedForm(const OpRegistry& registry, const Node* producer) {
  if (producer == nullptr) return nullptr;
  auto fused = [&](absl::string_view name) { return &registry.Get(name, kInferdDomain); };
  if (producer->op().domain == kInferdDomain) {
    for (const char* name : {"inferd::FusedConv", "inferd::FusedGemm", "inferd::FusedMatMul",
                             "inferd::FusedAdd", "inferd::ScaleShift"}) {
      if (IsOp(producer, name)) return &producer->op();
    }
    return nullptr;
  }
  if (IsOp(producer, "Conv")) return fused("FusedConv");
  if (IsOp(producer, "Gemm")) return fused("FusedGemm");
  if (IsOp(producer, "MatMul")) return fused("FusedMatMul");
  const bool sum = IsOp(producer, "Add") || (IsOp(producer, "Sum") && producer->num_inputs() == 2);
  // Other additions broadcast; a chain of elementwise nodes is not this pass's matter.
  if (sum && SameKnownShape(producer->input(0), producer->input(1))) return fused("FusedAdd");
  return nullptr;
}

}  // namespace

absl::StatusOr<int> FuseActivation(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (node->num_inputs() == 0 || node->input(0) == nullptr || !rewriter.IsReplaceable(node)) {
      continue;
    }
    const std::optional<Match> match = MatchActivation(rewriter, *node);
    if (!match.has_value() || !IsFloat32(match->x)) continue;
    Node* producer = match->x->producer();
    const OpDef* op = FusedForm(registry, producer);
    if (op == nullptr) continue;
    ASSIGN_OR_RETURN(ActivationChain chain, ReadActivations(producer->attributes()));
    chain.push_back(match->activation);
    Attributes attributes = producer->attributes();
    WriteActivations(chain, &attributes);
    Node* fused =
        rewriter.Replace(node, *op, producer->name(), producer->inputs(), std::move(attributes));
    fused->AddOrigins(*producer);
    if (match->extra != nullptr) {
      fused->AddOrigins(*match->extra);
      rewriter.RemoveIfUnused(match->extra);
    }
    rewriter.RemoveIfUnused(producer);
    ++applied;
  }
  return applied;
}

}  // namespace inferd::engine
