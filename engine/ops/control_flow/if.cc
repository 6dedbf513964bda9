// If: runs one of two bodies.
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/control_flow/bodies.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectScalar(context, 0));
  const Node& node = context.node();
  ASSIGN_OR_RETURN(const Graph* then_branch, BodyOf(node, "then_branch"));
  ASSIGN_OR_RETURN(const Graph* else_branch, BodyOf(node, "else_branch"));
  const size_t outputs = node.outputs().size();
  const int captures = NumCaptures(node, node.num_inputs() - 1);
  RETURN_IF_ERROR(ExpectBodyInputs(*then_branch, "then_branch", captures));
  RETURN_IF_ERROR(ExpectBodyInputs(*else_branch, "else_branch", captures));
  if (then_branch->outputs().size() != outputs || else_branch->outputs().size() != outputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it has ", outputs, " outputs, graph 'then_branch' ", then_branch->outputs().size(),
        " and graph 'else_branch' ", else_branch->outputs().size(), "; expected one number"));
  }
  for (size_t i = 0; i < outputs; ++i) {
    const ValueType& a = then_branch->outputs()[i]->type();
    const ValueType& b = else_branch->outputs()[i]->type();
    const bool known = !(a.is_tensor() && a.element == ElementType::kUndefined) &&
                       !(b.is_tensor() && b.element == ElementType::kUndefined);
    if (known && (a.kind != b.kind || a.element != b.element)) {
      return absl::InvalidArgumentError(absl::StrCat("output ", i, " is ", a.ToString(),
                                                     " in then_branch and ", b.ToString(),
                                                     " in else_branch; both must have one type"));
    }
    context.SetOutput(static_cast<int>(i), CommonType(a, b));
  }
  return absl::OkStatus();
}

class IfKernel final : public Kernel {
 public:
  explicit IfKernel(int captures) : captures_(captures) {}

  absl::Status Run(KernelContext& context) const override {
    ASSIGN_OR_RETURN(const bool condition, ReadCondition(context.input(0), "the condition"));
    std::vector<TensorView> inputs;
    inputs.reserve(captures_);
    for (int i = 0; i < captures_; ++i) {
      inputs.push_back(context.input(context.num_inputs() - captures_ + i));
    }
    std::vector<Tensor> outputs;
    RETURN_IF_ERROR(context.RunBody(condition ? "then_branch" : "else_branch", inputs, &outputs));
    for (int i = 0; i < context.num_outputs(); ++i) {
      RETURN_IF_ERROR(context.SetOutput(i, std::move(outputs[i])));
    }
    return absl::OkStatus();
  }

 private:
  const int captures_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  return std::make_unique<IfKernel>(
      NumCaptures(*spec.node, static_cast<int>(spec.inputs.size()) - 1));
}

}  // namespace

void RegisterIfOps(OpRegistry& registry) {
  registry.Register({.name = "If",
                     .version = 25,
                     .inputs = {RequiredParameter("cond", "", {ElementType::kBool}),
                                RepeatedParameter("captured", "", {})},
                     .outputs = {RepeatedParameter("outputs", "", {})},
                     .attributes = {{"then_branch", AttributeSpec::Kind::kGraph, true},
                                    {"else_branch", AttributeSpec::Kind::kGraph, true},
                                    kCapturesSpec},
                     .infer = Infer,
                     .reference = Reference,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
