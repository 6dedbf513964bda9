// Operators the standard has renamed, was only trying out in opset 1, or never had although
// exporters write them into its domain.
#include <limits>

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

// What other runtimes call the root mean square normalization of the standard, which lacks the
// second output: where that is asked for, the node stays as it is.
absl::Status SimplifiedLayerNorm(NodeAdapter& node) {
  for (size_t i = 1; i < node.output_used.size(); ++i) {
    if (node.output_used[i]) return absl::OkStatus();
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

using Ints = std::vector<int64_t>;

// Images without a border, or cut to `scale` from the border on.
absl::Status Crop(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "input"));
  const Ints border = node.attributes.GetInts("border");
  const Ints scale = node.attributes.GetInts("scale");
  if (border.size() != 4 || (!scale.empty() && scale.size() != 2)) {
    return absl::InvalidArgumentError(
        "attribute border must hold left, top, right and bottom, and scale a height and a width");
  }
  for (const Ints& values : {border, scale}) {
    for (const int64_t v : values) {
      if (v < 0 || v > std::numeric_limits<int32_t>::max()) {
        return absl::InvalidArgumentError(
            absl::StrCat("attributes border and scale hold ", v, ", expected sizes in pixels"));
      }
    }
  }
  const int64_t left = border[0], top = border[1];
  Ints ends;
  if (scale.empty()) {
    for (const int64_t behind : {border[3], border[2]}) {
      ends.push_back(behind == 0 ? std::numeric_limits<int64_t>::max() : -behind);
    }
  } else {
    ends = {top + scale[0], left + scale[1]};
  }
  node.Become("Slice", {node.input(0), node.Ints("starts", {top, left}), node.Ints("ends", ends),
                        node.Ints("axes", {2, 3})});
  return absl::OkStatus();
}

absl::Status Scale(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "input"));
  Value* scale = node.ScalarLike("scale", node.attributes.GetFloat("scale", 1.0f), node.input(0));
  node.Become("Mul", {node.input(0), scale});
  return absl::OkStatus();
}

absl::Status DynamicSlice(NodeAdapter& node) {
  node.op = "Slice";
  return absl::OkStatus();
}

// The shape that fills are given: by an attribute, an input's shape or an input's values.
absl::StatusOr<Value*> FillShape(NodeAdapter& node) {
  Value* x = node.input(0);
  if (x == nullptr) return node.Ints("shape", node.attributes.GetInts("shape"));
  Value* shape = nullptr;
  if (node.attributes.GetInt("input_as_shape", 0) != 0) {
    Attributes cast;
    cast.Set("to", static_cast<int64_t>(ElementType::kInt64));
    shape = node.Emit("Cast", {x}, std::move(cast));
  } else {
    shape = node.Emit("Shape", {x});
  }
  const Ints extra = node.attributes.GetInts("extra_shape");
  if (extra.empty()) return shape;
  Attributes concat;
  concat.Set("axis", int64_t{0});
  return node.Emit("Concat", {shape, node.Ints("extra_shape", extra)}, std::move(concat));
}

absl::Status GivenTensorFill(NodeAdapter& node) {
  const std::vector<float> values = node.attributes.GetFloats("values");
  ASSIGN_OR_RETURN(Value * shape, FillShape(node));
  Value* flat = node.Constant(
      "values", Tensor::FromValues<float>({static_cast<int64_t>(values.size())}, values));
  Attributes attributes;
  attributes.Set("allowzero", int64_t{1});
  node.Become("Reshape", {flat, shape}, std::move(attributes));
  return absl::OkStatus();
}

absl::Status ConstantFill(NodeAdapter& node) {
  const int64_t type = node.attributes.GetInt("dtype", 1);
  const float value = node.attributes.GetFloat("value", 0.0f);
  ASSIGN_OR_RETURN(Value * shape, FillShape(node));
  Attributes fill;
  fill.Set("value", Tensor::FromValues<float>({1}, absl::Span<const float>(&value, 1)));
  Value* filled = node.Emit("ConstantOfShape", {shape}, std::move(fill));
  Attributes cast;
  cast.Set("to", type);
  node.Become("Cast", {filled}, std::move(cast));
  return absl::OkStatus();
}

// Axes were told by a switch, and dividing by the deviation could be left out.
absl::Status MeanVarianceSwitches(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "input"));
  const bool across = node.TakeAttribute<int64_t>("across_channels").value_or(0) != 0;
  const bool divide = node.TakeAttribute<int64_t>("normalize_variance").value_or(1) != 0;
  const Ints axes = across ? Ints{0, 1, 2, 3} : Ints{0, 2, 3};
  if (divide) {
    node.attributes.Set("axes", axes);
    return absl::OkStatus();
  }
  Value* mean = node.Emit("ReduceMean", {node.input(0), node.Ints("axes", axes)});
  node.Become("Sub", {node.input(0), mean});
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "ConstantFill", 1, ConstantFill},
    {"", "Crop", 1, Crop},
    {"", "DynamicSlice", 1, DynamicSlice},
    {"", "GivenTensorFill", 1, GivenTensorFill},
    {"", "MeanVarianceNormalization", 1, MeanVarianceSwitches},
    {"", "MeanVarianceNormalization", 9, nullptr},
    {"", "Scale", 1, Scale},
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
