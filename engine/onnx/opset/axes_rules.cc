// Axes were an attribute of the reductions, Squeeze and Unsqueeze; now they are input 1. The axis
// of DFT became input 2, and counts from the other end where it is not given.
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status AxesToInput(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  if (std::optional<std::vector<int64_t>> axes = node.TakeAttribute<std::vector<int64_t>>("axes")) {
    node.SetInput(1, node.Ints("axes", *axes));
  }
  return absl::OkStatus();
}

absl::Status RequiredAxesToInput(NodeAdapter& node) {
  if (!node.attributes.has("axes")) {
    return absl::InvalidArgumentError("attribute \"axes\" is missing");
  }
  return AxesToInput(node);
}

absl::Status DftAxisToInput(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "input"));
  const int64_t axis = node.TakeAttribute<int64_t>("axis").value_or(1);
  node.SetInput(2, node.Constant("axis", Tensor::Scalar<int64_t>(axis)));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "Squeeze", 1, AxesToInput},           {"", "Squeeze", 13, nullptr},
    {"", "Unsqueeze", 1, RequiredAxesToInput}, {"", "Unsqueeze", 13, nullptr},
    {"", "ReduceSum", 1, AxesToInput},         {"", "ReduceSum", 13, nullptr},
    {"", "ReduceL1", 1, AxesToInput},          {"", "ReduceL1", 18, nullptr},
    {"", "ReduceL2", 1, AxesToInput},          {"", "ReduceL2", 18, nullptr},
    {"", "ReduceLogSum", 1, AxesToInput},      {"", "ReduceLogSum", 18, nullptr},
    {"", "ReduceLogSumExp", 1, AxesToInput},   {"", "ReduceLogSumExp", 18, nullptr},
    {"", "ReduceMax", 1, AxesToInput},         {"", "ReduceMax", 18, nullptr},
    {"", "ReduceMean", 1, AxesToInput},        {"", "ReduceMean", 18, nullptr},
    {"", "ReduceMin", 1, AxesToInput},         {"", "ReduceMin", 18, nullptr},
    {"", "ReduceProd", 1, AxesToInput},        {"", "ReduceProd", 18, nullptr},
    {"", "ReduceSumSquare", 1, AxesToInput},   {"", "ReduceSumSquare", 18, nullptr},
    {"", "DFT", 17, DftAxisToInput},           {"", "DFT", 20, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> AxesRules() { return kRules; }

}  // namespace inferd::engine
