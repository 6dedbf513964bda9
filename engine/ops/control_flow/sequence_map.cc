// SequenceMap: runs a body on each element of sequences and collects what it returns.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/control_flow/bodies.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/status_macros.h"
#include "engine/tensor/composite.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  const Node& node = context.node();
  ASSIGN_OR_RETURN(const Graph* body, BodyOf(node, "body"));
  RETURN_IF_ERROR(ExpectBodyInputs(*body, "body", node.num_inputs()));
  RETURN_IF_ERROR(ExpectBodyOutputs(*body, "body", node.num_outputs()));
  for (int i = 0; i < node.num_outputs(); ++i) {
    ValueType element = body->outputs()[i]->type();
    if (element.is_tensor()) element.shape = {};
    context.SetOutput(i, ValueType::SequenceOf(std::move(element)));
  }
  return absl::OkStatus();
}

absl::Status Run(int captures, KernelContext& context) {
  std::vector<TensorView> inputs(context.num_inputs());
  // Null: a tensor or capture that every element sees.
  std::vector<const Composite*> sequences(context.num_inputs(), nullptr);
  for (int i = 0; i < context.num_inputs(); ++i) {
    inputs[i] = context.input(i);
    if (i < context.num_inputs() - captures && inputs[i].type == ElementType::kComposite) {
      sequences[i] = &CompositeOf(inputs[i]);
    }
  }
  const size_t length = sequences[0]->items.size();
  for (size_t i = 1; i < sequences.size(); ++i) {
    if (sequences[i] != nullptr && sequences[i]->items.size() != length) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " has ",
                                                     sequences[i]->items.size(),
                                                     " elements, the input sequence ", length));
    }
  }
  std::vector<Composite> outputs(context.num_outputs());
  for (size_t element = 0; element < length; ++element) {
    for (size_t i = 0; i < sequences.size(); ++i) {
      if (sequences[i] != nullptr) inputs[i] = sequences[i]->items[element].view();
    }
    std::vector<Tensor> results;
    if (absl::Status s = context.RunBody("body", inputs, &results); !s.ok()) {
      return absl::Status(s.code(), absl::StrCat("element ", element, ": ", s.message()));
    }
    for (size_t o = 0; o < outputs.size(); ++o) outputs[o].items.push_back(std::move(results[o]));
  }
  for (int o = 0; o < context.num_outputs(); ++o) {
    RETURN_IF_ERROR(context.SetOutput(o, MakeComposite(std::move(outputs[o]))));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const int captures = NumCaptures(*spec.node, static_cast<int>(spec.inputs.size()) - 1);
  return MakeKernel([captures](KernelContext& context) { return Run(captures, context); });
}

}  // namespace

void RegisterSequenceMapOps(OpRegistry& registry) {
  registry.Register({.name = "SequenceMap",
                     .version = 17,
                     .oldest_version = 17,
                     .inputs = {RequiredParameter("input_sequence", "", {ElementType::kComposite}),
                                RepeatedParameter("additional_inputs", "", {})},
                     .outputs = {VariadicParameter("out_sequence", "", {ElementType::kComposite})},
                     .attributes = {{"body", AttributeSpec::Kind::kGraph, true}, kCapturesSpec},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
