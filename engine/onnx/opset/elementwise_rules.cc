// Clip, Dropout, Selu and the like.
#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Bounds were attributes; the infinite ones of opset 6 were the defaults.
absl::Status ClipBoundsToInputs(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "input"));
  if (std::optional<float> min = node.TakeAttribute<float>("min")) {
    node.SetInput(1, node.ScalarLike("min", *min, node.input(0)));
  }
  if (std::optional<float> max = node.TakeAttribute<float>("max")) {
    node.SetInput(2, node.ScalarLike("max", *max, node.input(0)));
  }
  return absl::OkStatus();
}

// The defaults were rounded otherwise in opset 1.
absl::Status SeluDefaults(NodeAdapter& node) {
  if (!node.attributes.has("alpha")) node.attributes.Set("alpha", 1.6732f);
  if (!node.attributes.has("gamma")) node.attributes.Set("gamma", 1.0507f);
  return absl::OkStatus();
}

absl::Status DropoutRatioToInput(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  const std::optional<float> ratio = node.TakeAttribute<float>("ratio");
  node.SetInput(1, node.Constant("ratio", Tensor::Scalar<float>(ratio.value_or(0.5f))));
  return absl::OkStatus();
}

// Up to opset 9 the mask had the type of the data.
absl::Status DropoutOldMask(NodeAdapter& node) {
  RETURN_IF_ERROR(DropoutRatioToInput(node));
  if (node.output_used.size() < 2) return absl::OkStatus();
  if (!node.output_used[1]) {
    node.output_used.resize(1);
    return absl::OkStatus();
  }
  const ElementType type = NodeAdapter::ElementOf(node.input(0));
  if (type == ElementType::kUndefined) {
    return absl::UnimplementedError(
        "the type of the mask before opset 10 is that of the data, which is not known");
  }
  Attributes cast;
  cast.Set("to", static_cast<int64_t>(type));
  node.after.push_back({1, "Cast", std::move(cast)});
  return absl::OkStatus();
}

absl::Status DropoutTestMode(NodeAdapter& node) {
  if (node.TakeAttribute<int64_t>("is_test").value_or(0) == 0) {
    node.Note("Dropout nodes are not marked is_test; they run as in inference all the same.");
  }
  return DropoutOldMask(node);
}

constexpr OpsetRule kRules[] = {
    {"", "Clip", 1, ClipBoundsToInputs},
    {"", "Clip", 11, nullptr},
    {"", "Selu", 1, SeluDefaults},
    {"", "Selu", 6, nullptr},
    {"", "Dropout", 1, DropoutTestMode},
    {"", "Dropout", 7, DropoutOldMask},
    {"", "Dropout", 10, DropoutRatioToInput},
    {"", "Dropout", 12, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> ElementwiseRules() { return kRules; }

}  // namespace inferd::engine
