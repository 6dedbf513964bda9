#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Exporters list the outputs of training mode even where nothing reads them.
absl::Status DropTrainingOutputs(NodeAdapter& node) {
  for (size_t i = 1; i < node.output_used.size(); ++i) {
    if (node.output_used[i]) {
      return absl::UnimplementedError(
          absl::StrCat("output ", i, " belongs to training mode, which only exists from opset 14"));
    }
  }
  if (node.output_used.size() > 1) node.output_used.resize(1);
  return absl::OkStatus();
}

// spatial = 0: every element has its own statistics, so the parameters have the shape of X without
// the batch: (X - mean) / sqrt(var + epsilon) * scale + B.
void NormalizeEveryElement(NodeAdapter& node) {
  const float epsilon = node.attributes.GetFloat("epsilon", 1e-5f);
  Value* x = node.input(0);
  Value* variance = node.input(4);
  Value* shifted = node.Emit("Add", {variance, node.ScalarLike("epsilon", epsilon, variance)});
  Value* centered = node.Emit("Sub", {x, node.input(3)});
  Value* normalized = node.Emit("Div", {centered, node.Emit("Sqrt", {shifted})});
  node.Become("Add", {node.Emit("Mul", {normalized, node.input(1)}), node.input(2)});
}

absl::Status BatchNormBefore9(NodeAdapter& node) {
  constexpr absl::string_view kNames[] = {"X", "scale", "B", "mean", "var"};
  for (size_t i = 0; i < std::size(kNames); ++i) RETURN_IF_ERROR(node.RequireInput(i, kNames[i]));
  RETURN_IF_ERROR(DropTrainingOutputs(node));
  if (node.TakeAttribute<int64_t>("spatial").value_or(1) == 0) NormalizeEveryElement(node);
  return absl::OkStatus();
}

absl::Status BatchNormBefore7(NodeAdapter& node) {
  if (node.TakeAttribute<int64_t>("is_test").value_or(0) == 0) {
    node.Note(
        "BatchNormalization nodes are not marked is_test; they run as in inference all the same.");
  }
  return BatchNormBefore9(node);
}

absl::Status BatchNormInference(NodeAdapter& node) {
  if (node.attributes.GetInt("training_mode", 0) != 0) return absl::OkStatus();
  for (size_t i = 1; i < node.output_used.size(); ++i) {
    if (node.output_used[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", i, " is used, but exists only with training_mode 1"));
    }
  }
  if (node.output_used.size() > 1) node.output_used.resize(1);
  return absl::OkStatus();
}

// Scale and bias were given per group, not per channel.
absl::Status GroupNormPerGroup(NodeAdapter& node) {
  constexpr absl::string_view kNames[] = {"X", "scale", "bias"};
  for (size_t i = 0; i < std::size(kNames); ++i) RETURN_IF_ERROR(node.RequireInput(i, kNames[i]));
  const int64_t groups = node.attributes.GetInt("num_groups", 0);
  if (groups < 1) return absl::InvalidArgumentError("num_groups is missing or below 1");
  Attributes channels;
  channels.Set("start", int64_t{1});
  channels.Set("end", int64_t{2});
  Value* group_count = node.Ints("groups", {groups});
  Value* per_group =
      node.Emit("Div", {node.Emit("Shape", {node.input(0)}, std::move(channels)), group_count});
  Attributes concat;
  concat.Set("axis", int64_t{0});
  Value* shape = node.Emit("Concat", {group_count, per_group}, std::move(concat));
  Value* flat = node.Ints("channels", {-1});
  for (size_t i = 1; i <= 2; ++i) {
    Value* column = node.Emit("Unsqueeze", {node.input(i), node.Ints("axes", {1})});
    Value* repeated = node.Emit("Expand", {column, shape});
    node.SetInput(i, node.Emit("Reshape", {repeated, flat}));
  }
  return absl::OkStatus();
}

// ONNX Runtime had this operator before the standard. Its own lets the scale have another type,
// that of the result, and ignores attributes it does not know; its optimizer's exports have both.
absl::Status LayerNormBeforeStandard(NodeAdapter& node) {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : node.attributes) {
    if (name != "axis" && name != "epsilon" && name != "stash_type") unknown.push_back(name);
  }
  for (const std::string& name : unknown) {
    node.Note(absl::StrCat("LayerNormalization has no attribute '", name, "'; it is ignored."));
    node.attributes.Erase(name);
  }
  Value* x = node.input(0);
  Value* scale = node.input(1);
  if (x == nullptr || scale == nullptr) return absl::OkStatus();
  const ElementType from = NodeAdapter::ElementOf(x), to = NodeAdapter::ElementOf(scale);
  if (from == to || from == ElementType::kUndefined || to == ElementType::kUndefined) {
    return absl::OkStatus();
  }
  node.SetInput(0, node.Emit("CastLike", {x, scale}));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "BatchNormalization", 1, BatchNormBefore7},
    {"", "BatchNormalization", 7, BatchNormBefore9},
    {"", "BatchNormalization", 9, DropTrainingOutputs},
    {"", "BatchNormalization", 14, BatchNormInference},
    {"", "GroupNormalization", 18, GroupNormPerGroup},
    {"", "GroupNormalization", 21, nullptr},
    {"", "LayerNormalization", 1, LayerNormBeforeStandard},
    {"", "LayerNormalization", 17, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> NormalizationRules() { return kRules; }

}  // namespace inferd::engine
