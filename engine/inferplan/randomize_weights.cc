#include "engine/inferplan/randomize_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

bool FeedsWeightedOperator(const Value& value) {
  static constexpr std::array<absl::string_view, 7> kNames = {"Conv",
                                                              "ConvTranspose",
                                                              "Gemm",
                                                              "MatMul",
                                                              "BatchNormalization",
                                                              "InstanceNormalization",
                                                              "LayerNormalization"};
  return std::any_of(value.uses().begin(), value.uses().end(), [](const Value::Use& use) {
    return std::find(kNames.begin(), kNames.end(), use.node->op().name) != kNames.end();
  });
}

// Reduction length of the operator a weight feeds.
double FanIn(const Value& value, const Shape& shape) {
  if (shape.rank() > 2)
    return static_cast<double>(shape.NumElements()) / std::max<int64_t>(1, shape[0]);
  for (const Value::Use& use : value.uses()) {
    if (use.node->op().name == "Gemm" && use.node->attributes().GetInt("transB", 0) != 0) {
      return static_cast<double>(shape[1]);
    }
  }
  return static_cast<double>(shape[0]);
}

absl::StatusOr<Tensor> RandomWeights(const Value& value, const Tensor& old,
                                     std::mt19937_64& engine) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(old.type(), old.shape()));
  double low = 0.5, high = 1.5;
  if (old.shape().rank() >= 2 && old.num_elements() > 0) {
    high = std::sqrt(3.0 / std::max(1.0, FanIn(value, old.shape())));
    low = -high;
  }
  std::uniform_real_distribution<float> distribution(static_cast<float>(low),
                                                     static_cast<float>(high));
  DispatchType<float, double, Float16, BFloat16>(old.type(), [&]<typename T>() {
    T* data = tensor.mutable_data<T>();
    for (int64_t i = 0; i < tensor.num_elements(); ++i) data[i] = T(distribution(engine));
  });
  return tensor;
}

bool IsRandomizable(ElementType type) { return type_sets::kFloats.contains(type); }

}  // namespace

absl::StatusOr<int> RandomizeWeights(Graph& graph, uint64_t seed) {
  std::mt19937_64 engine(seed);
  // Constants that a node makes become constants of the graph first.
  for (const auto& node : graph.nodes()) {
    const Value* shape = node->input(0);
    if (node->op().name != "ConstantOfShape" || shape == nullptr || !shape->is_constant()) continue;
    const Tensor* fill = node->attributes().Get<Tensor>("value");
    const ElementType type = fill != nullptr ? fill->type() : ElementType::kFloat32;
    if (!IsRandomizable(type)) continue;
    ASSIGN_OR_RETURN(const std::vector<int64_t> dims, ToInt64Vector(shape->constant().view()));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type, Shape(dims)));
    graph.MakeConstant(node->output(0), std::move(tensor));
  }
  graph.RemoveDead();

  std::vector<Value*> weights;
  for (const auto& node : graph.nodes()) {
    for (Value* value : node->inputs()) {
      if (value == nullptr || !value->is_constant()) continue;
      const Tensor& tensor = value->constant();
      if (!IsRandomizable(tensor.type())) continue;
      if (tensor.num_elements() < 16 && !FeedsWeightedOperator(*value)) continue;
      if (std::find(weights.begin(), weights.end(), value) == weights.end()) {
        weights.push_back(value);
      }
    }
  }
  for (Value* value : weights) {
    ASSIGN_OR_RETURN(Tensor tensor, RandomWeights(*value, value->constant(), engine));
    Value* replacement = graph.AddConstant(value->name(), std::move(tensor));
    graph.ReplaceAllUses(value, replacement);
  }
  graph.RemoveDead();
  return static_cast<int>(weights.size());
}

}  // namespace inferd::engine
