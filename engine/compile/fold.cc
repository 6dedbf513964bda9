#include "engine/compile/fold.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/device/device.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

class FoldContext final : public KernelContext {
 public:
  // What AllocateOutput makes goes to `allocated`.
  FoldContext(const std::vector<TensorView>& inputs, std::vector<TensorView> outputs,
              std::vector<Tensor>& allocated, void* workspace, Stream& stream)
      : inputs_(inputs),
        outputs_(std::move(outputs)),
        tensors_(allocated),
        workspace_(workspace),
        stream_(stream) {}

  const TensorView& input(int i) const override { return i < num_inputs() ? inputs_[i] : absent_; }
  const TensorView& output(int i) const override {
    return i < num_outputs() ? outputs_[i] : absent_;
  }
  bool has_input(int i) const override { return input(i).type != ElementType::kUndefined; }
  bool has_output(int i) const override { return output(i).type != ElementType::kUndefined; }
  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  int num_outputs() const override { return static_cast<int>(outputs_.size()); }
  void* workspace() const override { return workspace_; }
  Stream& stream() const override { return stream_; }

  absl::StatusOr<TensorView> AllocateOutput(int i, const Shape& shape) override {
    ASSIGN_OR_RETURN(tensors_[i], Tensor::Allocate(outputs_[i].type, shape));
    outputs_[i] = tensors_[i].view();
    return outputs_[i];
  }

 private:
  const std::vector<TensorView>& inputs_;
  std::vector<TensorView> outputs_;
  std::vector<Tensor>& tensors_;
  TensorView absent_;
  void* workspace_;
  Stream& stream_;
};

absl::Status RunOnce(const Kernel& kernel, const std::vector<TensorView>& inputs,
                     const std::vector<TensorView>& outputs, std::vector<Tensor>& allocated) {
  BufferRef workspace;
  if (kernel.workspace_bytes() > 0) {
    ASSIGN_OR_RETURN(workspace, AllocateHostBuffer(kernel.workspace_bytes()));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, CpuDevice().NewStream(1));
  FoldContext context(inputs, outputs, allocated, workspace ? workspace->data() : nullptr, *stream);
  return kernel.Run(context);
}

}  // namespace

bool DependsOnShapesOnly(const OpDef& op) {
  return op.domain.empty() && (op.name == "Shape" || op.name == "Size");
}

absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node,
                                                 const std::vector<TensorView>& inputs,
                                                 const std::vector<TensorView>& outputs) {
  const OpDef& op = node.op();
  if (op.reference == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(node.display_name(), ": no reference kernel for ", op.qualified_name()));
  }
  std::vector<Tensor> constants(inputs.size());
  NodeSpec spec;
  spec.node = &node;
  spec.inputs.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorView& view = inputs[i];
    if (view.type == ElementType::kUndefined) continue;
    spec.inputs[i].present = true;
    spec.inputs[i].type = view.type;
    spec.inputs[i].shape = view.shape;
    if (view.data == nullptr) continue;
    constants[i] =
        Tensor(view.type, view.shape, WrapExternalMemory(view.data, view.num_bytes(), nullptr));
    spec.inputs[i].constant = &constants[i];
  }
  spec.outputs.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type == ElementType::kUndefined) continue;
    spec.outputs[i].present = true;
    spec.outputs[i].type = outputs[i].type;
    spec.outputs[i].shape = outputs[i].shape;
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, op.reference(spec));

  std::vector<Tensor> tensors(outputs.size());
  std::vector<TensorView> views = outputs;
  if (!op.dynamic_outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].type == ElementType::kUndefined) continue;
      ASSIGN_OR_RETURN(tensors[i], Tensor::Allocate(outputs[i].type, outputs[i].shape));
      views[i] = tensors[i].view();
    }
  }
  RETURN_IF_ERROR(RunOnce(*kernel, inputs, views, tensors));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type != ElementType::kUndefined && !tensors[i].defined()) {
      return absl::InternalError(absl::StrCat("the kernel left output ", i, " unallocated"));
    }
  }
  return tensors;
}

absl::Status RunKernelOnce(const Kernel& kernel, const std::vector<TensorView>& inputs,
                           const std::vector<TensorView>& outputs) {
  std::vector<Tensor> allocated(outputs.size());
  return RunOnce(kernel, inputs, outputs, allocated);
}

}  // namespace inferd::engine
