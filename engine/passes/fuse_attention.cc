// softmax(scale * q k^T + mask) v over [batch, heads, length, size] becomes Attention, which never
// holds the matrix of scores. The scale may stand before or after the product, in one piece or on
// both operands; the mask is a float tensor that is added.
// Preserves values up to float rounding, except where the mask is minus infinity in a whole row:
// Attention answers 0 there where softmax answers NaN.
// Applies only where shapes prove that nothing but the mask broadcasts, save for keys and values of
// one head, and that the mask covers every key: a shorter one means something else to Attention.
#include <utility>
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {
namespace {

bool Same(const Dim& a, const Dim& b) { return (a.known() || a.symbolic()) && a == b; }

bool OfRankFour(const Value* value) {
  return value->type().is_tensor() && value->type().shape.has_rank() &&
         value->type().shape.rank() == 4;
}

// The shapes of q, k^T and v are those of heads side by side.
bool HeadsAgree(const SymbolicShape& q, const SymbolicShape& k, const SymbolicShape& v) {
  if (!Same(q[0], k[0]) || !Same(q[0], v[0]) || !Same(k[1], v[1])) return false;
  return Same(q[1], k[1]) || (k[1] == Dim(1) && q[1].known());
}

bool MaskFits(const SymbolicShape& mask, const SymbolicShape& q, const SymbolicShape& k) {
  if (!mask.has_rank() || mask.rank() < 1 || mask.rank() > 4) return false;
  const Dim scores[] = {q[0], q[1], q[2], k[3]};
  for (int i = 1; i <= mask.rank(); ++i) {
    const Dim& dim = mask[mask.rank() - i];
    if (!Same(dim, scores[4 - i]) && (i == 1 || !(dim == Dim(1)))) return false;
  }
  return true;
}

// The keys as [batch, heads, length, size]: the transposition taken back, which a pass merges with
// the one that was there.
Value* Keys(Match& m) {
  const Node& transpose = *m["transposed"]->producer();
  std::vector<int64_t> perm = transpose.attributes().GetInts("perm");
  std::swap(perm[2], perm[3]);
  if (perm == std::vector<int64_t>{0, 1, 2, 3}) return m["k"];
  Attributes attributes;
  attributes.Set("perm", perm);
  return m.Add("Transpose", {m["k"]}, std::move(attributes));
}

absl::StatusOr<bool> Build(Match& m) {
  for (const char* name : {"q", "k", "v", "transposed"}) {
    if (!OfRankFour(m[name])) return false;
  }
  if (!m.KeepsShapeOf("q") || m["v"]->type().element != m["q"]->type().element) return false;
  const SymbolicShape& q = m["q"]->type().shape;
  const SymbolicShape& k = m["transposed"]->type().shape;
  if (!HeadsAgree(q, k, m["v"]->type().shape)) return false;
  if (m["mask"] != nullptr && !MaskFits(m["mask"]->type().shape, q, k)) return false;

  double scale = 1;
  for (const char* name : {"scale", "q_scale", "k_scale", "late_k_scale"})
    scale *= m.number(name, 1);
  for (const char* name : {"divisor", "q_divisor"}) scale /= m.number(name, 1);
  Attributes attributes;
  attributes.Set("scale", static_cast<float>(scale));
  m.ReplaceWith("Attention", {m["q"], Keys(m), m["v"], m["mask"]}, std::move(attributes));
  return true;
}

bool OverLastAxis(const Node& softmax) {
  const int64_t axis = softmax.attributes().GetInt("axis", -1);
  return axis == -1 || axis == 3;
}

bool HasPermOfFour(const Node& transpose) {
  return transpose.attributes().GetInts("perm").size() == 4;
}

}  // namespace

absl::StatusOr<int> FuseAttention(Graph& graph, const OpRegistry& registry) {
  const Pattern q = OneOf({Op("Mul", {Any("q"), Number("q_scale")}),
                           Op("Div", {Any("q"), Number("q_divisor")}), Any("q")});
  const Pattern k = OneOf({Op("Mul", {Any("k"), Number("k_scale")}), Any("k")});
  const Pattern transposed = Op("Transpose", {k}).As("transposed").Where(HasPermOfFour);
  const Pattern product =
      Op("MatMul", {q, OneOf({Op("Mul", {transposed, Number("late_k_scale")}), transposed})});
  const Pattern scores = OneOf(
      {Op("Mul", {product, Number("scale")}), Op("Div", {product, Number("divisor")}), product});
  const Pattern weights =
      Op("Softmax", {OneOf({Op("Add", {scores, Any("mask")}), scores})}).Where(OverLastAxis);
  return ApplyRules(graph, registry, {{Op("MatMul", {weights, Any("v")}), Build}});
}

}  // namespace inferd::engine
