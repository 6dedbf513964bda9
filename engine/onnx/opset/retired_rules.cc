// Operators the standard has renamed, was only trying out in opset 1, or never had although
// exporters write them into its domain.
#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status ScatterAsElements(NodeAdapter& node) {
  node.op = "ScatterElements";
  return absl::OkStatus();
}

// What other runtimes call the root mean square normalization of the standard.
absl::Status SimplifiedLayerNorm(NodeAdapter& node) {
  for (size_t i = 1; i < node.output_used.size(); ++i) {
    if (node.output_used[i]) {
      return absl::UnimplementedError(absl::StrCat("output ", i, " is for training"));
    }
  }
  if (node.output_used.size() > 1) node.output_used.resize(1);
  node.op = "RMSNormalization";
  return absl::OkStatus();
}

// X * scale + bias[channel], for X of shape [N, C, H, W].
absl::Status ImageScaler(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "input"));
  Value* x = node.input(0);
  const float scale = node.attributes.GetFloat("scale", 1.0f);
  const std::vector<float> bias = node.attributes.GetFloats("bias");
  Value* scaled = node.Emit("Mul", {x, node.ScalarLike("scale", scale, x)});
  Value* offset = node.Constant(
      "bias", Tensor::FromValues<float>({static_cast<int64_t>(bias.size()), 1, 1}, bias));
  if (NodeAdapter::ElementOf(x) != ElementType::kFloat32)
    offset = node.Emit("CastLike", {offset, x});
  node.Become("Add", {scaled, offset});
  return absl::OkStatus();
}

// alpha * X + beta
absl::Status Affine(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  Value* x = node.input(0);
  Value* alpha = node.ScalarLike("alpha", node.attributes.GetFloat("alpha", 1.0f), x);
  Value* beta = node.ScalarLike("beta", node.attributes.GetFloat("beta", 0.0f), x);
  node.Become("Add", {node.Emit("Mul", {x, alpha}), beta});
  return absl::OkStatus();
}

// alpha * f(beta * X)
absl::Status ScaledFunction(NodeAdapter& node, absl::string_view function, float default_scale) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  Value* x = node.input(0);
  Value* alpha = node.ScalarLike("alpha", node.attributes.GetFloat("alpha", default_scale), x);
  Value* beta = node.ScalarLike("beta", node.attributes.GetFloat("beta", default_scale), x);
  node.Become("Mul", {alpha, node.Emit(function, {node.Emit("Mul", {beta, x})})});
  return absl::OkStatus();
}
absl::Status ScaledTanh(NodeAdapter& node) { return ScaledFunction(node, "Tanh", 1.0f); }
absl::Status ParametricSoftplus(NodeAdapter& node) {
  return ScaledFunction(node, "Softplus", 1.0f);
}

constexpr OpsetRule kRules[] = {
    {"", "Scatter", 9, ScatterAsElements},
    {"", "SimplifiedLayerNormalization", 1, SimplifiedLayerNorm},
    {"", "ImageScaler", 1, ImageScaler},
    {"", "Affine", 1, Affine},
    {"", "ScaledTanh", 1, ScaledTanh},
    {"", "ParametricSoftplus", 1, ParametricSoftplus},
};

struct Replacement {
  absl::string_view op;
  absl::string_view by;
};
constexpr Replacement kReplacements[] = {
    {"Upsample", "Resize"},
    {"Scatter", "ScatterElements"},
    {"SimplifiedLayerNormalization", "RMSNormalization"},
    {"ImageScaler", "Add"},
    {"Affine", "Add"},
    {"ScaledTanh", "Tanh"},
    {"ParametricSoftplus", "Softplus"},
};

}  // namespace

absl::Span<const OpsetRule> RetiredRules() { return kRules; }

absl::string_view ReplacementOf(absl::string_view op) {
  for (const Replacement& r : kReplacements) {
    if (r.op == op) return r.by;
  }
  return {};
}

}  // namespace inferd::engine
