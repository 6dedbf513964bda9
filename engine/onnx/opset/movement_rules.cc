// Operators that move elements: Reshape, Concat, Split, Slice, Pad, Tile, GridSample, DFT.
#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using Ints = std::vector<int64_t>;

absl::Status MissingAttribute(absl::string_view name) {
  return absl::InvalidArgumentError(absl::StrCat("attribute \"", name, "\" is missing"));
}

absl::Status ReshapeShapeToInput(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  const std::optional<Ints> shape = node.TakeAttribute<Ints>("shape");
  if (!shape.has_value()) return MissingAttribute("shape");
  node.SetInput(1, node.Ints("shape", *shape));
  return absl::OkStatus();
}

absl::Status ConcatDefaultAxis(NodeAdapter& node) {
  if (!node.attributes.has("axis")) node.attributes.Set("axis", int64_t{1});
  return absl::OkStatus();
}

// Without sizes the parts were equal; their number is that of the outputs.
absl::Status SplitCountOutputs(NodeAdapter& node) {
  if (node.input(1) == nullptr && !node.attributes.has("num_outputs")) {
    node.attributes.Set("num_outputs", static_cast<int64_t>(node.output_used.size()));
  }
  return absl::OkStatus();
}

absl::Status SplitSizesToInput(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "input"));
  if (std::optional<Ints> sizes = node.TakeAttribute<Ints>("split"); sizes && !sizes->empty()) {
    node.SetInput(1, node.Ints("split", *sizes));
  }
  return SplitCountOutputs(node);
}

absl::Status SliceRangesToInputs(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  const std::optional<Ints> starts = node.TakeAttribute<Ints>("starts");
  const std::optional<Ints> ends = node.TakeAttribute<Ints>("ends");
  const std::optional<Ints> axes = node.TakeAttribute<Ints>("axes");
  if (!starts.has_value()) return MissingAttribute("starts");
  if (!ends.has_value()) return MissingAttribute("ends");
  node.SetInput(1, node.Ints("starts", *starts));
  node.SetInput(2, node.Ints("ends", *ends));
  if (axes.has_value()) node.SetInput(3, node.Ints("axes", *axes));
  return absl::OkStatus();
}

absl::Status PadToInputs(NodeAdapter& node, absl::string_view pads_name) {
  RETURN_IF_ERROR(node.RequireInput(0, "data"));
  const std::optional<Ints> pads = node.TakeAttribute<Ints>(pads_name);
  const std::optional<float> value = node.TakeAttribute<float>("value");
  if (!pads.has_value()) return MissingAttribute(pads_name);
  node.SetInput(1, node.Ints("pads", *pads));
  if (value.has_value() && *value != 0.0f) {
    node.SetInput(2, node.ScalarLike("value", *value, node.input(0)));
  }
  return absl::OkStatus();
}
absl::Status PadFrom1(NodeAdapter& node) { return PadToInputs(node, "paddings"); }
absl::Status PadFrom2(NodeAdapter& node) { return PadToInputs(node, "pads"); }

// Inputs `tiles` and `axis` tiled one dimension.
absl::Status TileOneAxis(NodeAdapter& node) {
  RETURN_IF_ERROR(node.RequireInput(0, "input"));
  RETURN_IF_ERROR(node.RequireInput(1, "tiles"));
  RETURN_IF_ERROR(node.RequireInput(2, "axis"));
  const Tensor* tiles = NodeAdapter::ConstantOf(node.input(1));
  const Tensor* axis = NodeAdapter::ConstantOf(node.input(2));
  const std::optional<int> rank = NodeAdapter::RankOf(node.input(0));
  if (tiles == nullptr || axis == nullptr || !rank.has_value()) {
    return absl::UnimplementedError(
        "before opset 6 tiles and axis must be constants and the rank of the input known");
  }
  // Both had the type of the data.
  auto read = [](const Tensor& t) -> absl::StatusOr<int64_t> {
    if (t.num_elements() != 1) {
      return absl::InvalidArgumentError("tiles and axis must have one element each");
    }
    if (t.type() == ElementType::kFloat32) return static_cast<int64_t>(t.data<float>()[0]);
    ASSIGN_OR_RETURN(const Ints values, ToInt64Vector(t.view()));
    return values[0];
  };
  ASSIGN_OR_RETURN(const int64_t count, read(*tiles));
  ASSIGN_OR_RETURN(const int64_t dimension, read(*axis));
  if (dimension < 0 || dimension >= *rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", dimension, " is out of range for rank ", *rank));
  }
  Ints repeats(*rank, 1);
  repeats[dimension] = count;
  node.inputs = {node.input(0), node.Ints("repeats", repeats)};
  return absl::OkStatus();
}

absl::Status GridSampleModes(NodeAdapter& node) {
  const std::string mode = node.attributes.GetString("mode", "bilinear");
  if (mode == "bilinear") node.attributes.Set("mode", std::string("linear"));
  if (mode == "bicubic") node.attributes.Set("mode", std::string("cubic"));
  return absl::OkStatus();
}

absl::Status DftAxisToInput(NodeAdapter& node) {
  const int64_t axis = node.TakeAttribute<int64_t>("axis").value_or(1);
  node.SetInput(2, node.Constant("axis", Tensor::Scalar<int64_t>(axis)));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "Reshape", 1, ReshapeShapeToInput},
    {"", "Reshape", 5, nullptr},
    {"", "Concat", 1, ConcatDefaultAxis},
    {"", "Concat", 4, nullptr},
    {"", "Split", 1, SplitSizesToInput},
    {"", "Split", 13, SplitCountOutputs},
    {"", "Split", 18, nullptr},
    {"", "Slice", 1, SliceRangesToInputs},
    {"", "Slice", 10, nullptr},
    {"", "Pad", 1, PadFrom1},
    {"", "Pad", 2, PadFrom2},
    {"", "Pad", 11, nullptr},
    {"", "Tile", 1, TileOneAxis},
    {"", "Tile", 6, nullptr},
    {"", "GridSample", 16, GridSampleModes},
    {"", "GridSample", 20, nullptr},
    {"", "DFT", 17, DftAxisToInput},
    {"", "DFT", 20, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> MovementRules() { return kRules; }

}  // namespace inferd::engine
