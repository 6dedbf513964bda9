// Before opset 7 broadcasting was asked for by attributes, and only the second input took part.
#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Where the rank is unknown: higher than that of any real tensor.
constexpr int kMaxRank = 64;

// B with `count` dimensions of 1 appended, where the count is known.
Value* AppendOnes(NodeAdapter& node, Value* b, int rank, int count) {
  std::vector<int64_t> axes;
  for (int i = 0; i < count; ++i) axes.push_back(rank + i);
  return node.Emit("Unsqueeze", {b, node.Ints("axes", axes)});
}

Value* RankAsTensor(NodeAdapter& node, Value* value) {
  return node.Emit("Shape", {node.Emit("Shape", {value})});
}

// As AppendOnes with the count rank(a) - axis - rank(b), computed when the model runs.
Value* AppendOnesAtRun(NodeAdapter& node, Value* a, Value* b, int64_t axis) {
  Value* count = node.Ints("axis", {-axis});
  if (axis >= 0) count = node.Emit("Add", {RankAsTensor(node, a), count});
  count = node.Emit("Sub", {count, RankAsTensor(node, b)});
  Value* ones = node.Emit("Expand", {node.Ints("one", {1}), count});
  Attributes concat;
  concat.Set("axis", int64_t{0});
  Value* shape = node.Emit("Concat", {node.Emit("Shape", {b}), ones}, std::move(concat));
  Attributes reshape;
  reshape.Set("allowzero", int64_t{1});
  return node.Emit("Reshape", {b, shape}, std::move(reshape));
}

// `axis` is the dimension of A that the first dimension of B stands at; without it B's dimensions
// match the last ones of A, as they do now.
absl::Status AlignSecondInput(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "A"));
  RETURN_IF_ERROR(node.RequireInput(1, "B"));
  const bool broadcast = node.TakeAttribute<int64_t>("broadcast").value_or(0) != 0;
  const std::optional<int64_t> axis = node.TakeAttribute<int64_t>("axis");
  if (!broadcast || !axis.has_value()) return absl::OkStatus();
  Value* a = node.input(0);
  Value* b = node.input(1);
  const std::optional<int> rank_a = NodeAdapter::RankOf(a);
  const std::optional<int> rank_b = NodeAdapter::RankOf(b);
  if (const int bound = rank_a.value_or(kMaxRank); *axis < -bound || *axis > bound) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", *axis, " is out of range for input A of rank ",
                     rank_a.has_value() ? absl::StrCat(*rank_a) : "?"));
  }
  if (!rank_b.has_value() || (!rank_a.has_value() && *axis >= 0)) {
    node.SetInput(1, AppendOnesAtRun(node, a, b, *axis));
    return absl::OkStatus();
  }
  const int64_t missing = (*axis < 0 ? -*axis : *rank_a - *axis) - *rank_b;
  if (missing < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", *axis, " leaves no room for input B of rank ", *rank_b));
  }
  if (missing > 0) node.SetInput(1, AppendOnes(node, b, *rank_b, static_cast<int>(missing)));
  return absl::OkStatus();
}

// A slope of one dimension belonged to the channels, dimension 1 of X.
absl::Status SlopePerChannel(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "X"));
  RETURN_IF_ERROR(node.RequireInput(1, "slope"));
  Value* slope = node.input(1);
  if (NodeAdapter::RankOf(slope) != 1) return absl::OkStatus();
  const std::optional<int> rank = NodeAdapter::RankOf(node.input(0));
  if (!rank.has_value()) {
    return absl::UnimplementedError("the rank of input X must be known before opset 7");
  }
  if (*rank > 2) node.SetInput(1, AppendOnes(node, slope, 1, *rank - 2));
  return absl::OkStatus();
}

// C broadcasts now whether asked for or not.
absl::Status DropBroadcast(NodeAdapter& node) {
  node.attributes.Erase("broadcast");
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "Add", 1, AlignSecondInput},     {"", "Add", 7, nullptr},
    {"", "Sub", 1, AlignSecondInput},     {"", "Sub", 7, nullptr},
    {"", "Mul", 1, AlignSecondInput},     {"", "Mul", 7, nullptr},
    {"", "Div", 1, AlignSecondInput},     {"", "Div", 7, nullptr},
    {"", "Pow", 1, AlignSecondInput},     {"", "Pow", 7, nullptr},
    {"", "And", 1, AlignSecondInput},     {"", "And", 7, nullptr},
    {"", "Or", 1, AlignSecondInput},      {"", "Or", 7, nullptr},
    {"", "Xor", 1, AlignSecondInput},     {"", "Xor", 7, nullptr},
    {"", "Equal", 1, AlignSecondInput},   {"", "Equal", 7, nullptr},
    {"", "Greater", 1, AlignSecondInput}, {"", "Greater", 7, nullptr},
    {"", "Less", 1, AlignSecondInput},    {"", "Less", 7, nullptr},
    {"", "PRelu", 1, SlopePerChannel},    {"", "PRelu", 7, nullptr},
    {"", "Gemm", 1, DropBroadcast},       {"", "Gemm", 7, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> BroadcastRules() { return kRules; }

}  // namespace inferd::engine
