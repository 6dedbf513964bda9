#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status TopKCountToInput(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  const std::optional<int64_t> k = node.TakeAttribute<int64_t>("k");
  if (!k.has_value()) return absl::InvalidArgumentError("attribute \"k\" is missing");
  node.SetInput(1, node.Ints("k", {*k}));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "TopK", 1, TopKCountToInput},
    {"", "TopK", 10, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> SelectionRules() { return kRules; }

}  // namespace inferd::engine
