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

// A negative index was one out of range, with no hot value. Depth itself is out of range still.
absl::Status OneHotWithoutNegatives(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "indices"));
  RETURN_IF_ERROR(node.RequireInput(1, "depth"));
  Value* indices = node.input(0);
  Value* zero = node.ScalarLike("zero", 0.0f, indices);
  Value* depth = node.Emit("CastLike", {node.input(1), indices});
  // Depth may be a vector of one.
  depth = node.Emit("Reshape", {depth, node.Ints("scalar", {})});
  Value* negative = node.Emit("Less", {indices, zero});
  node.SetInput(0, node.Emit("Where", {negative, depth, indices}));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "OneHot", 9, OneHotWithoutNegatives},
    {"", "OneHot", 11, nullptr},
    {"", "TopK", 1, TopKCountToInput},
    {"", "TopK", 10, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> SelectionRules() { return kRules; }

}  // namespace inferd::engine
