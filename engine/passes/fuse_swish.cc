// x * sigmoid(alpha x), also called SiLU where alpha is 1, becomes Swish. Preserves values up to
// float rounding.
#include "engine/passes/all_passes.h"
#include "engine/passes/pattern.h"

namespace inferd::engine {

absl::StatusOr<int> FuseSwish(Graph& graph, const OpRegistry& registry) {
  const Pattern x = Any("x");
  const Pattern exp = Op("Exp", {Op("Neg", {x})});
  const Rule rule = {OneOf({Op("Mul", {x, Op("Sigmoid", {x})}),
                            Op("Mul", {x, Op("Sigmoid", {Op("Mul", {x, Number("alpha")})})}),
                            Op("Div", {x, Op("Add", {exp, Is(1)})}),
                            Op("Mul", {x, OneOf({Op("Div", {Is(1), Op("Add", {exp, Is(1)})}),
                                                 Op("Reciprocal", {Op("Add", {exp, Is(1)})})})})}),
                     [](Match& m) -> absl::StatusOr<bool> {
                       if (!m.KeepsShapeOf("x")) return false;
                       Attributes attributes;
                       if (m["alpha"] != nullptr) {
                         attributes.Set("alpha", static_cast<float>(m.number("alpha")));
                       }
                       m.ReplaceWith("Swish", {m["x"]}, std::move(attributes));
                       return true;
                     }};
  return ApplyRules(graph, registry, {rule});
}

}  // namespace inferd::engine
