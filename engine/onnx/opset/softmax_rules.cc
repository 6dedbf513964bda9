// Before opset 13 Softmax, LogSoftmax and Hardmax worked on the input flattened to two dimensions
// at `axis`, by default 1; now they work along one axis.
#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The shape to give back after flattening. A constant where the type allows, so that inference
// goes on: after flattening at axis 1 dimension 0 is still that of X, which Reshape copies for 0.
Value* OriginalShape(NodeAdapter& node, Value* x, int64_t axis) {
  const SymbolicShape& shape = x->type().shape;
  bool fixed = shape.has_rank() && x->type().is_tensor();
  std::vector<int64_t> dims;
  for (int i = 0; fixed && i < shape.rank(); ++i) {
    const bool copied = i == 0 && axis == 1;
    fixed = copied || (shape[i].known() && shape[i].value() > 0);
    dims.push_back(copied ? 0 : shape[i].value());
  }
  return fixed ? node.Ints("shape", dims) : nullptr;
}

absl::Status FlattenAround(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "input"));
  int64_t axis = node.attributes.GetInt("axis", 1);
  Value* x = node.input(0);
  const std::optional<int> rank = NodeAdapter::RankOf(x);
  if (rank.has_value()) {
    if (axis < -*rank || axis > *rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis, " is out of range for rank ", *rank));
    }
    if (axis < 0) axis += *rank;
  }
  // Flattening before the last dimension changes nothing.
  if (axis == -1 || (rank.has_value() && axis == *rank - 1)) {
    node.attributes.Set("axis", int64_t{-1});
    return absl::OkStatus();
  }
  Attributes flatten;
  flatten.Set("axis", axis);
  Attributes along_rows;
  along_rows.Set("axis", int64_t{1});
  Value* rows = node.Emit("Flatten", {x}, std::move(flatten));
  Value* result = node.Emit(node.op, {rows}, std::move(along_rows));
  if (Value* shape = OriginalShape(node, x, axis)) {
    node.Become("Reshape", {result, shape});
    return absl::OkStatus();
  }
  Attributes reshape;
  reshape.Set("allowzero", int64_t{1});
  node.Become("Reshape", {result, node.Emit("Shape", {x})}, std::move(reshape));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "Softmax", 1, FlattenAround},    {"", "Softmax", 13, nullptr},
    {"", "LogSoftmax", 1, FlattenAround}, {"", "LogSoftmax", 13, nullptr},
    {"", "Hardmax", 1, FlattenAround},    {"", "Hardmax", 13, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> SoftmaxRules() { return kRules; }

}  // namespace inferd::engine
