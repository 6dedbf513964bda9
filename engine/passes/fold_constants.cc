// Computes nodes whose inputs are all constant, and Shape of what has a known shape. The values
// are those the reference kernels give at run time. Bounded in size: a small constant must
// not grow into gigabytes of weights.
#include <algorithm>
#include <optional>
#include <vector>

#include "engine/passes/all_passes.h"
#include "engine/passes/evaluate.h"
#include "engine/passes/rewrite.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Some exporters write every weight as a ConstantOfShape (a fully connected layer of VGG is
// 400 MB): there the result stands for a stored weight.
constexpr int64_t kMaxFilledBytes = int64_t{1} << 30;
// Other nodes: results no larger than this, or than the inputs they replace.
constexpr int64_t kMaxGrownBytes = int64_t{16} << 20;
// All results of one round together: a file of a few kilobytes must not take all memory.
constexpr int64_t kMaxTotalBytes = int64_t{4} << 30;

bool AllInputsConstant(const Node& node) {
  return std::all_of(node.inputs().begin(), node.inputs().end(),
                     [](const Value* v) { return v == nullptr || v->is_constant(); });
}

// Bytes of all outputs; nullopt where a type or shape is not known.
std::optional<int64_t> OutputBytes(const Node& node) {
  int64_t bytes = 0;
  for (const Value* output : node.outputs()) {
    if (output == nullptr) continue;
    const ValueType& type = output->type();
    if (!type.is_tensor() || type.element == ElementType::kUndefined) return std::nullopt;
    const std::optional<Shape> shape = type.shape.concrete();
    if (!shape.has_value()) return std::nullopt;
    const auto elements = shape->CheckedNumElements();
    if (!elements.ok() || *elements > kMaxFilledBytes) return std::nullopt;
    bytes += ElementBytes(type.element, *elements);
  }
  return bytes;
}

bool IsSmallEnough(const Node& node, int64_t output_bytes) {
  if (IsOp(&node, "ConstantOfShape")) return output_bytes <= kMaxFilledBytes;
  int64_t input_bytes = 0;
  for (const Value* input : node.inputs()) {
    if (input != nullptr) input_bytes += input->constant().num_bytes();
  }
  return output_bytes <= std::max(kMaxGrownBytes, input_bytes);
}

bool MayFold(const Node& node) {
  if (!node.op().is_deterministic || node.op().reference == nullptr || !node.bodies().empty()) {
    return false;
  }
  if (!AllInputsConstant(node)) return false;
  if (node.op().dynamic_outputs) {
    // The size is known only afterwards, but such results select from their inputs.
    return std::all_of(node.outputs().begin(), node.outputs().end(),
                       [](const Value* v) { return v == nullptr || v->type().is_tensor(); });
  }
  const std::optional<int64_t> bytes = OutputBytes(node);
  return bytes.has_value() && IsSmallEnough(node, *bytes);
}

// Shape and Size need no values.
std::optional<Tensor> FoldShape(const Node& node) {
  const bool is_shape = IsOp(&node, "Shape");
  if (!is_shape && !IsOp(&node, "Size")) return std::nullopt;
  if (node.input(0) == nullptr || !node.input(0)->type().is_tensor()) return std::nullopt;
  const std::optional<Shape> shape = node.input(0)->type().shape.concrete();
  if (!shape.has_value()) return std::nullopt;
  if (!is_shape) return Tensor::Scalar<int64_t>(shape->NumElements());
  const int64_t rank = shape->rank();
  auto bound = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const int64_t start = bound(node.attributes().GetInt("start", 0));
  const int64_t end = std::max(start, bound(node.attributes().GetInt("end", rank)));
  return Tensor::Vector(shape->dims().subspan(start, end - start));
}

bool IsDequantize(const Node& node) {
  return IsOp(&node, "DequantizeLinear") || IsOp(&node, "com.microsoft::DequantizeLinear");
}

absl::StatusOr<int> Fold(Graph& graph, const OpRegistry& registry, bool keep_quantized) {
  Rewriter rewriter(graph, registry);
  int applied = 0;
  int64_t total_bytes = 0;
  for (Node* node : rewriter.Snapshot()) {
    if (std::optional<Tensor> shape = FoldShape(*node); shape.has_value()) {
      graph.MakeConstant(node->output(0), *std::move(shape));
      graph.RemoveNode(node);
      ++applied;
      continue;
    }
    if (!AllInputsConstant(*node)) continue;
    if (keep_quantized && IsDequantize(*node)) continue;
    // A fold just before may have made the shape known.
    RETURN_IF_ERROR(InferNode(graph, *node));
    if (!MayFold(*node)) continue;
    total_bytes += OutputBytes(*node).value_or(0);
    if (total_bytes > kMaxTotalBytes) break;
    absl::StatusOr<std::vector<Tensor>> values = EvaluateNode(*node);
    // What cannot be computed now fails at run time, with the node's name, if it is reached.
    if (!values.ok()) continue;
    const std::vector<Value*> outputs = node->outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != nullptr) graph.MakeConstant(outputs[i], std::move((*values)[i]));
    }
    graph.RemoveNode(node);
    ++applied;
  }
  return applied;
}

}  // namespace

absl::StatusOr<int> FoldConstants(Graph& graph, const OpRegistry& registry) {
  return Fold(graph, registry, /*keep_quantized=*/false);
}

absl::StatusOr<int> FoldAllButDequantize(Graph& graph, const OpRegistry& registry) {
  return Fold(graph, registry, /*keep_quantized=*/true);
}

}  // namespace inferd::engine
