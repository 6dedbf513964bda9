// The kernel interface: what a provider is asked to implement and what runs.
//
//   NodeSpec --(KernelImplementation::Accept)--> layouts or a refusal with its reason
//            --(KernelImplementation::Create)--> Kernel, shared by every context of the plan
//   Kernel::Run(KernelContext) at every inference
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/device/device.h"
#include "engine/ir/graph.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

class PackedWeights;  // engine/kernel/packed_weights.h

// One operand of a node in a plan: everything is concrete.
struct OperandSpec {
  bool present = false;  // false: absent optional
  ElementType type = ElementType::kUndefined;
  Shape shape;
  Layout layout;
  // The value, when it is the same for every run (weights); else null.
  const Tensor* constant = nullptr;
  const ValueType* value_type = nullptr;  // for sequences, optionals and maps
};

// One node of a specialized graph. Valid during the call it is passed to.
struct NodeSpec {
  const Node* node = nullptr;
  std::vector<OperandSpec> inputs;
  std::vector<OperandSpec> outputs;
  int threads = 1;                          // intra-op threads of the context
  PackedWeights* packed_weights = nullptr;  // where packed constants are shared; may be null

  const OpDef& op() const { return node->op(); }
  const Attributes& attributes() const { return node->attributes(); }
  bool has_input(int i) const { return i < static_cast<int>(inputs.size()) && inputs[i].present; }
  bool has_output(int i) const {
    return i < static_cast<int>(outputs.size()) && outputs[i].present;
  }
  const OperandSpec& input(int i) const { return inputs[i]; }
  const OperandSpec& output(int i) const { return outputs[i]; }
};

// What a kernel sees when it runs.
class KernelContext {
 public:
  virtual ~KernelContext() = default;
  // An absent operand is a view with null data and undefined type.
  virtual const TensorView& input(int i) const = 0;
  virtual const TensorView& output(int i) const = 0;
  virtual bool has_input(int i) const = 0;
  virtual bool has_output(int i) const = 0;
  virtual int num_inputs() const = 0;
  virtual int num_outputs() const = 0;
  // Kernel::workspace_bytes() of memory, kBufferAlignment-aligned, contents undefined.
  virtual void* workspace() const = 0;
  // The stream the node runs on. On the CPU: its ThreadPool is the context's.
  virtual Stream& stream() const = 0;
  ThreadPool& threads() const { return stream().threads(); }
  // For operators with dynamic_outputs alone: memory for output i once its shape is known.
  virtual absl::StatusOr<TensorView> AllocateOutput(int i, const Shape& shape) = 0;
  // For operators with dynamic_outputs, and for composite outputs of any: output i is this tensor
  // from now on, without a copy. INVALID_ARGUMENT where its element type is not the output's.
  virtual absl::Status SetOutput(int i, Tensor tensor);
  // For operators with bodies: runs the graph in attribute `body`. `inputs`: one view per formal
  // input of the body, then one per capture, as they stand behind the node's own inputs. The
  // same contract as Context::Run; views may lie in tensors of `outputs`.
  virtual absl::Status RunBody(absl::string_view body, absl::Span<const TensorView> inputs,
                               std::vector<Tensor>* outputs);
};

// A ready-to-run implementation of one node for fixed shapes and layouts. Immutable: Run is
// const and may be called from several contexts at once. Run allocates nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual absl::Status Run(KernelContext& context) const = 0;
  virtual size_t workspace_bytes() const { return 0; }
  // Bytes of packed constants this kernel holds and does not share.
  virtual size_t held_bytes() const { return 0; }
  // When true, the executor frees an input's unpacked constant: the kernel packed it.
  virtual bool consumed_constant(int /*input*/) const { return false; }
};

// A kernel from a callable, for the many operators with nothing to keep but a few integers.
template <typename Fn>
class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(Fn fn) : fn_(std::move(fn)) {}
  absl::Status Run(KernelContext& context) const override { return fn_(context); }

 private:
  Fn fn_;
};
// fn: absl::Status(KernelContext&), const-callable.
template <typename Fn>
std::unique_ptr<Kernel> MakeKernel(Fn fn) {
  return std::make_unique<FunctionKernel<Fn>>(std::move(fn));
}

// The layouts a candidate wants for a node. One per operand, in order.
struct KernelLayouts {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
};

// One way to compute an operator on one provider: a candidate for the planner and the tuner.
class KernelImplementation {
 public:
  virtual ~KernelImplementation() = default;
  // "onednn_conv_blocked", "reference".
  virtual absl::string_view name() const = 0;
  // The layouts this candidate would run `spec` in, given the layouts its inputs now have
  // (spec.inputs[i].layout), or UNIMPLEMENTED with the reason it declines, e.g. "oneDNN pooling:
  // dilations not supported". Cheap: called for every node of every plan.
  virtual absl::StatusOr<KernelLayouts> Accept(const NodeSpec& spec) const = 0;
  // `spec` carries the layouts Accept returned.
  virtual absl::StatusOr<std::unique_ptr<Kernel>> Create(const NodeSpec& spec) const = 0;
};

// An execution provider: a device and an ordered list of candidates per operator.
class ExecutionProvider {
 public:
  virtual ~ExecutionProvider() = default;
  virtual absl::string_view name() const = 0;  // "cpu", "cuda"
  virtual Device& device() const = 0;
  // Best first; the reference kernel, where the provider has it, is last.
  virtual std::vector<const KernelImplementation*> Candidates(const OpDef& op) const = 0;
};

}  // namespace inferd::engine
