// Upsample, the versions of Resize, and GridSample.
#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// How Upsample and the first Resize mapped coordinates: x_original = x / scale, rounded down for
// nearest.
absl::Status BecomeResize(NodeAdapter& node, Value* scales) {
  std::string mode = node.attributes.GetString("mode", "nearest");
  if (mode == "bilinear" || mode == "trilinear") mode = "linear";
  Attributes attributes;
  attributes.Set("mode", std::move(mode));
  attributes.Set("coordinate_transformation_mode", std::string("asymmetric"));
  attributes.Set("nearest_mode", std::string("floor"));
  node.Become("Resize", {node.input(0), nullptr, scales}, std::move(attributes));
  return absl::OkStatus();
}

Value* Scales(NodeAdapter& node, const std::vector<float>& scales) {
  return node.Constant("scales",
                       Tensor::FromValues<float>({static_cast<int64_t>(scales.size())}, scales));
}

absl::Status UpsampleHeightWidth(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  const std::optional<float> height = node.TakeAttribute<float>("height_scale");
  const std::optional<float> width = node.TakeAttribute<float>("width_scale");
  if (!height.has_value() || !width.has_value()) {
    return absl::InvalidArgumentError("attributes height_scale and width_scale are required");
  }
  return BecomeResize(node, Scales(node, {1.0f, 1.0f, *height, *width}));
}

absl::Status UpsampleScalesAttribute(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  const std::optional<std::vector<float>> scales = node.TakeAttribute<std::vector<float>>("scales");
  if (!scales.has_value()) return absl::InvalidArgumentError("attribute \"scales\" is missing");
  return BecomeResize(node, Scales(node, *scales));
}

// Upsample 9 and Resize 10 take the scales as an input.
absl::Status ScalesInput(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(node.RequireInput(1, "scales"));
  return BecomeResize(node, node.input(1));
}

// roi and scales were required, so writers pass empty tensors for "none"; many still do.
absl::Status DropEmptyInputs(NodeAdapter& node) {
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Tensor* value = NodeAdapter::ConstantOf(node.inputs[i]);
    if (value != nullptr && value->num_elements() == 0) node.inputs[i] = nullptr;
  }
  return absl::OkStatus();
}

// "tf_half_pixel_for_nn" left out the "- 0.5" of half_pixel; opset 13 removed it. For nearest the
// missing half moves into the rounding, where a rounding for it exists.
absl::Status ReplaceTfHalfPixel(NodeAdapter& node) {
  RETURN_IF_ERROR(DropEmptyInputs(node));
  constexpr absl::string_view kMode = "coordinate_transformation_mode";
  if (node.attributes.GetString(kMode, "") != "tf_half_pixel_for_nn") return absl::OkStatus();
  const std::string rounding = node.attributes.GetString("nearest_mode", "round_prefer_floor");
  std::string replacement;
  if (rounding == "round_prefer_floor") replacement = "ceil";
  if (rounding == "floor") replacement = "round_prefer_ceil";
  if (replacement.empty() || node.attributes.GetString("mode", "nearest") != "nearest") {
    return absl::UnimplementedError(
        absl::StrCat("coordinate_transformation_mode tf_half_pixel_for_nn is supported for mode "
                     "nearest with nearest_mode round_prefer_floor or floor only"));
  }
  node.attributes.Set(std::string(kMode), std::string("half_pixel"));
  node.attributes.Set("nearest_mode", std::move(replacement));
  return absl::OkStatus();
}

// Opset 20 renamed the modes when it allowed more than two spatial axes; the old names are still
// written.
absl::Status RenameSampleModes(NodeAdapter& node) {
  const std::string mode = node.attributes.GetString("mode", "");
  if (mode == "bilinear") node.attributes.Set("mode", std::string("linear"));
  if (mode == "bicubic") node.attributes.Set("mode", std::string("cubic"));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "Upsample", 1, UpsampleHeightWidth},  {"", "Upsample", 7, UpsampleScalesAttribute},
    {"", "Upsample", 9, ScalesInput},          {"", "Resize", 10, ScalesInput},
    {"", "Resize", 11, ReplaceTfHalfPixel},    {"", "Resize", 13, DropEmptyInputs},
    {"", "GridSample", 16, RenameSampleModes},
};

}  // namespace

absl::Span<const OpsetRule> ResizeRules() { return kRules; }

}  // namespace inferd::engine
