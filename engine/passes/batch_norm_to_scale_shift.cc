// BatchNormalization in inference form with constant statistics, y = (x - mean) / sqrt(var + eps) *
// scale + bias, becomes inferd::ScaleShift, y = x * a + b by channel. Preserves values up to float
// rounding: a and b are computed in double.
#include <cmath>
#include <optional>
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"

namespace inferd::engine {

absl::StatusOr<int> BatchNormToScaleShift(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (!IsOp(node, "BatchNormalization") || !rewriter.IsReplaceable(node)) continue;
    if (node->attributes().GetInt("training_mode", 0) != 0) continue;
    Value* x = node->input(0);
    if (!IsFloat32(x) || !x->type().shape.has_rank() || x->type().shape.rank() < 2) continue;
    const Tensor* parameters[4];
    bool constant = true;
    for (int i = 0; i < 4; ++i) {
      parameters[i] = FloatConstant(node->input(i + 1));
      constant = constant && parameters[i] != nullptr && parameters[i]->shape().rank() == 1 &&
                 parameters[i]->num_elements() == parameters[0]->num_elements();
    }
    if (!constant) continue;
    const double epsilon = node->attributes().GetFloat("epsilon", 1e-5f);
    const int64_t channels = parameters[0]->num_elements();
    std::vector<float> scale(channels), shift(channels);
    for (int64_t c = 0; c < channels; ++c) {
      const double a =
          parameters[0]->data<float>()[c] / std::sqrt(parameters[3]->data<float>()[c] + epsilon);
      scale[c] = static_cast<float>(a);
      shift[c] =
          static_cast<float>(parameters[1]->data<float>()[c] - a * parameters[2]->data<float>()[c]);
    }
    rewriter.Replace(node, registry.Get("ScaleShift", kInferdDomain), node->name(),
                     {x, AddVector(graph, node->name() + "_scale", scale),
                      AddVector(graph, node->name() + "_shift", shift)},
                     {});
    ++applied;
  }
  return applied;
}

}  // namespace inferd::engine
