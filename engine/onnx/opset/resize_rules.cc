// Upsample, the versions of Resize, and GridSample.
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// How Upsample and the first Resize mapped coordinates: x_original = x / scale, and the nearest
// pixel is the one below where the axis grows and the one above where it shrinks.
Attributes OldAttributes(std::string mode, absl::string_view rounding) {
  Attributes attributes;
  attributes.Set("mode", std::move(mode));
  attributes.Set("coordinate_transformation_mode", std::string("asymmetric"));
  attributes.Set("nearest_mode", std::string(rounding));
  return attributes;
}

enum class Direction { kGrow, kShrink, kBoth };

Direction DirectionOf(const Tensor* scales) {
  if (scales == nullptr || scales->type() != ElementType::kFloat32) return Direction::kBoth;
  bool grows = false, shrinks = false;
  for (const float s : scales->values<float>()) {
    grows = grows || s > 1;
    shrinks = shrinks || s < 1;
  }
  return !shrinks ? Direction::kGrow : grows ? Direction::kBoth : Direction::kShrink;
}

absl::Status BecomeResize(NodeAdapter& node, Value* scales) {
  std::string mode = node.attributes.GetString("mode", "nearest");
  if (mode == "bilinear" || mode == "trilinear") mode = "linear";
  Value* x = node.input(0);
  absl::string_view rounding = "floor";
  if (mode == "nearest") {
    const Direction direction = DirectionOf(NodeAdapter::ConstantOf(scales));
    if (direction == Direction::kShrink) rounding = "ceil";
    if (direction == Direction::kBoth) {
      // Each axis in one of two steps; a scale of 1 leaves it alone.
      Value* one = node.Constant("one", Tensor::FromValues<float>({1}, std::vector<float>{1.0f}));
      Value* smaller = node.Emit("Min", {scales, one});
      x = node.Emit("Resize", {x, nullptr, smaller}, OldAttributes(mode, "ceil"));
      scales = node.Emit("Max", {scales, one});
    }
  }
  node.Become("Resize", {x, nullptr, scales}, OldAttributes(mode, rounding));
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

// Opset 20 renamed the modes when it allowed more than two spatial axes; the old names are still
// written.
absl::Status RenameSampleModes(NodeAdapter& node) {
  const std::string mode = node.attributes.GetString("mode", "");
  if (mode == "bilinear") node.attributes.Set("mode", std::string("linear"));
  if (mode == "bicubic") node.attributes.Set("mode", std::string("cubic"));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "Upsample", 1, UpsampleHeightWidth}, {"", "Upsample", 7, UpsampleScalesAttribute},
    {"", "Upsample", 9, ScalesInput},         {"", "Resize", 10, ScalesInput},
    {"", "Resize", 11, DropEmptyInputs},      {"", "GridSample", 16, RenameSampleModes},
};

}  // namespace

absl::Span<const OpsetRule> ResizeRules() { return kRules; }

}  // namespace inferd::engine
