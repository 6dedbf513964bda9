// Scan of opset 8 had a batch axis before the scanned one.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/ir/lift_captures.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The type of one batch item.
ValueType WithoutFirstAxis(const ValueType& type) {
  ValueType item = type;
  if (!type.is_tensor() || !type.shape.has_rank() || type.shape.rank() == 0) return item;
  item.shape = SymbolicShape::OfRank(type.shape.rank() - 1);
  return item;
}

// Becomes a Scan over the batch, whose body is the Scan of today over one item.
absl::Status ScanWithBatch(NodeAdapter& node) {
  if (node.input(0) != nullptr) {
    return absl::UnimplementedError(
        "Scan-8 with sequence_lens: items of different lengths in one batch are not supported; "
        "export with opset 9 or newer");
  }
  const auto* body = node.attributes.Get<std::shared_ptr<Graph>>("body");
  if (body == nullptr) return absl::InvalidArgumentError("it lacks attribute 'body'");
  const OpDef& scan = OpRegistry::Global().Get("Scan");
  Attributes inner;
  inner.Set("body", *body);
  inner.Set("num_scan_inputs", node.attributes.GetInt("num_scan_inputs", 0));
  if (auto directions = node.TakeAttribute<std::vector<int64_t>>("directions")) {
    inner.Set("scan_input_directions", *std::move(directions));
  }

  auto item = std::make_shared<Graph>("batch item");
  std::vector<Value*> inputs;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is missing"));
    }
    inputs.push_back(
        item->AddInput(node.inputs[i]->name(), WithoutFirstAxis(node.inputs[i]->type())));
  }
  const size_t given = inputs.size();
  LiftCaptures(scan, inputs, inner);
  for (size_t i = given; i < inputs.size(); ++i) inputs[i] = item->AddCaptured(inputs[i]);
  std::vector<Value*> outputs;
  for (size_t i = 0; i < (*body)->outputs().size(); ++i) outputs.push_back(item->AddValue(""));
  Node* added = item->AddNode(scan, "", std::move(inputs), outputs, std::move(inner));
  RETURN_IF_ERROR(CheckNode(*added));
  RETURN_IF_ERROR(InferNode(*item, *added));
  for (Value* output : outputs) item->AddOutput(output);

  node.inputs.erase(node.inputs.begin());
  node.attributes = Attributes();
  node.attributes.Set("body", std::move(item));
  node.attributes.Set("num_scan_inputs", static_cast<int64_t>(given));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "Scan", 8, ScanWithBatch},
    {"", "Scan", 9, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> ControlFlowRules() { return kRules; }

}  // namespace inferd::engine
