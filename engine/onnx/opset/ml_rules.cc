// Domain ai.onnx.ml.
#include <numeric>

#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// classes_strings listed the names by index, and the input's type told the direction.
absl::Status LabelEncoderClasses(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  std::optional<std::vector<std::string>> names =
      node.TakeAttribute<std::vector<std::string>>("classes_strings");
  if (!names.has_value()) {
    return absl::InvalidArgumentError("attribute \"classes_strings\" is missing");
  }
  std::vector<int64_t> indices(names->size());
  std::iota(indices.begin(), indices.end(), 0);
  const bool from_strings = NodeAdapter::ElementOf(node.input(0)) == ElementType::kString;
  node.attributes.Set(from_strings ? "keys_strings" : "values_strings", *std::move(names));
  node.attributes.Set(from_strings ? "values_int64s" : "keys_int64s", std::move(indices));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"ai.onnx.ml", "LabelEncoder", 1, LabelEncoderClasses},
    {"ai.onnx.ml", "LabelEncoder", 2, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> MlRules() { return kRules; }

}  // namespace inferd::engine
