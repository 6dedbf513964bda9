#include "engine/passes/evaluate.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/device/device.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

class EvaluationContext final : public KernelContext {
 public:
  EvaluationContext(const NodeSpec& spec, Stream& stream) : spec_(spec), stream_(stream) {
    for (const OperandSpec& input : spec.inputs) {
      inputs_.push_back(input.present ? input.constant->view() : TensorView{});
    }
    outputs_.resize(spec.outputs.size());
    output_views_.resize(spec.outputs.size());
  }

  absl::Status AllocateOutputs() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!spec_.outputs[i].present) continue;
      RETURN_IF_ERROR(AllocateOutput(static_cast<int>(i), spec_.outputs[i].shape).status());
    }
    return absl::OkStatus();
  }
  absl::Status AllocateWorkspace(size_t bytes) {
    if (bytes == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(workspace_, AllocateHostBuffer(bytes));
    return absl::OkStatus();
  }
  std::vector<Tensor> TakeOutputs() { return std::move(outputs_); }

  const TensorView& input(int i) const override { return i < num_inputs() ? inputs_[i] : absent_; }
  const TensorView& output(int i) const override {
    return i < num_outputs() ? output_views_[i] : absent_;
  }
  bool has_input(int i) const override { return spec_.has_input(i); }
  bool has_output(int i) const override { return spec_.has_output(i); }
  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  int num_outputs() const override { return static_cast<int>(outputs_.size()); }
  void* workspace() const override { return workspace_ ? workspace_->data() : nullptr; }
  Stream& stream() const override { return stream_; }
  absl::StatusOr<TensorView> AllocateOutput(int i, const Shape& shape) override {
    ASSIGN_OR_RETURN(outputs_[i], Tensor::Allocate(spec_.outputs[i].type, shape));
    output_views_[i] = outputs_[i].view();
    return output_views_[i];
  }

 private:
  const NodeSpec& spec_;
  Stream& stream_;
  std::vector<TensorView> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<TensorView> output_views_;
  BufferRef workspace_;
  TensorView absent_;
};

}  // namespace

absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node) {
  if (node.op().reference == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(node.op().qualified_name(), " has no reference kernel"));
  }
  NodeSpec spec;
  spec.node = &node;
  for (const Value* input : node.inputs()) {
    OperandSpec operand;
    if (input != nullptr) {
      operand = {.present = true,
                 .type = input->constant().type(),
                 .shape = input->constant().shape(),
                 .layout = {},
                 .constant = &input->constant(),
                 .value_type = &input->type()};
    }
    spec.inputs.push_back(std::move(operand));
  }
  for (const Value* output : node.outputs()) {
    OperandSpec operand;
    if (output != nullptr) {
      const std::optional<Shape> shape = output->type().shape.concrete();
      if (!shape.has_value() && !node.op().dynamic_outputs) {
        return absl::FailedPreconditionError(absl::StrCat(node.display_name(), ": shape of output ",
                                                          output->name(), " is not known"));
      }
      operand = {.present = true,
                 .type = output->type().element,
                 .shape = shape.value_or(Shape{}),
                 .layout = {},
                 .constant = nullptr,
                 .value_type = &output->type()};
    }
    spec.outputs.push_back(std::move(operand));
  }
  ASSIGN_OR_RETURN(auto kernel, node.op().reference(spec));
  ASSIGN_OR_RETURN(auto stream, CpuDevice().NewStream(/*threads=*/1));
  EvaluationContext context(spec, *stream);
  if (!node.op().dynamic_outputs) RETURN_IF_ERROR(context.AllocateOutputs());
  RETURN_IF_ERROR(context.AllocateWorkspace(kernel->workspace_bytes()));
  RETURN_IF_ERROR(kernel->Run(context));
  return context.TakeOutputs();
}

}  // namespace inferd::engine
