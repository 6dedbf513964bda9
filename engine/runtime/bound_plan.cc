#include "engine/runtime/bound_plan.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/compile/graph_index.h"
#include "engine/status_macros.h"
#include "engine/tensor/composite.h"

namespace inferd::engine {

class BoundPlan::StepContext final : public KernelContext {
 public:
  StepContext(BoundPlan& bound, const Step& step, const RunEnvironment& environment)
      : bound_(bound),
        step_(step),
        environment_(environment),
        operands_(bound.plan_->operands.data() + step.first_operand) {}

  const TensorView& input(int i) const override {
    return has_input(i) ? bound_.views_[operands_[i]] : Absent();
  }
  const TensorView& output(int i) const override {
    return has_output(i) ? bound_.views_[operands_[step_.num_inputs + i]] : Absent();
  }
  bool has_input(int i) const override { return i < step_.num_inputs && operands_[i] >= 0; }
  bool has_output(int i) const override {
    return i < step_.num_outputs && operands_[step_.num_inputs + i] >= 0;
  }
  int num_inputs() const override { return step_.num_inputs; }
  int num_outputs() const override { return step_.num_outputs; }
  void* workspace() const override {
    return step_.workspace_offset < 0 ? nullptr : bound_.arena_ + step_.workspace_offset;
  }
  Stream& stream() const override { return *environment_.stream; }

  absl::StatusOr<TensorView> AllocateOutput(int i, const Shape& shape) override {
    if (!has_output(i)) {
      return absl::InternalError(absl::StrCat("AllocateOutput: there is no output ", i));
    }
    const int slot = operands_[step_.num_inputs + i];
    if (bound_.plan_->slots[slot].home != SlotHome::kDynamic) {
      return absl::InternalError(
          absl::StrCat("AllocateOutput: output ", i, " has a planned shape"));
    }
    TensorView& view = bound_.views_[slot];
    if (view.type == ElementType::kUndefined) {
      return absl::InternalError(
          absl::StrCat("AllocateOutput: output ", i, " has no element type"));
    }
    ASSIGN_OR_RETURN(const int64_t elements, shape.CheckedNumElements());
    if (view.type == ElementType::kString) {
      ASSIGN_OR_RETURN(bound_.dynamic_[slot], Tensor::Allocate(view.type, shape));
    } else {
      ASSIGN_OR_RETURN(BufferRef buffer,
                       environment_.pool->Acquire(ElementBytes(view.type, elements)));
      bound_.dynamic_[slot] = Tensor(view.type, shape, std::move(buffer));
    }
    view = bound_.dynamic_[slot].view();
    return view;
  }

  absl::Status SetOutput(int i, Tensor tensor) override {
    if (!has_output(i)) return absl::OkStatus();
    const int slot = operands_[step_.num_inputs + i];
    const Slot& planned = bound_.plan_->slots[slot];
    if (planned.home != SlotHome::kDynamic) {
      return absl::InternalError(absl::StrCat("SetOutput: output ", i, " has a planned shape"));
    }
    // What a body returns may be known only now.
    if (planned.view.type != ElementType::kUndefined && planned.view.type != tensor.type()) {
      return absl::InvalidArgumentError(absl::StrCat("output ", i, ": expected element type ",
                                                     ElementTypeName(planned.view.type), ", found ",
                                                     ElementTypeName(tensor.type())));
    }
    bound_.dynamic_[slot] = std::move(tensor);
    bound_.views_[slot] = bound_.dynamic_[slot].view();
    return absl::OkStatus();
  }

  absl::Status RunBody(absl::string_view body, absl::Span<const TensorView> inputs,
                       std::vector<Tensor>* outputs) override {
    return environment_.bodies->RunBody(*step_.node, body, inputs, outputs);
  }

 private:
  static const TensorView& Absent() {
    static const TensorView absent;
    return absent;
  }

  BoundPlan& bound_;
  const Step& step_;
  const RunEnvironment& environment_;
  const int* operands_;
};

absl::Status BoundPlan::Bind(std::shared_ptr<const Plan> plan, void* arena) {
  if (plan == plan_ && arena == arena_) return absl::OkStatus();
  const bool same_plan = plan == plan_;
  plan_ = std::move(plan);
  arena_ = static_cast<std::byte*>(arena);
  views_.resize(plan_->slots.size());
  for (size_t i = 0; i < views_.size(); ++i) {
    const Slot& slot = plan_->slots[i];
    views_[i] = slot.view;
    if (slot.home == SlotHome::kArena) views_[i].data = arena_ + slot.index;
  }
  if (!same_plan) {
    buffers_.resize(plan_->buffers.size());
    dynamic_.clear();
    if (plan_->has_dynamic_outputs) dynamic_.resize(plan_->slots.size());
    strings_.clear();
    for (int64_t count : plan_->strings) {
      // A count no memory can hold must fail as an error, not as std::bad_alloc.
      strings_.emplace_back(new (std::nothrow) std::string[count]);
      if (strings_.back() == nullptr) {
        strings_.clear();
        plan_ = nullptr;  // so that the next Bind starts afresh
        return absl::ResourceExhaustedError(absl::StrCat("cannot allocate ", count, " strings"));
      }
    }
  }
  for (size_t i = 0; i < views_.size(); ++i) {
    const Slot& slot = plan_->slots[i];
    if (slot.home == SlotHome::kStrings) views_[i].data = strings_[slot.index].get();
  }
  return absl::OkStatus();
}

std::string BoundPlan::NameOfBuffer(int buffer, const GraphIndex& index) const {
  for (const Result& result : plan_->results) {
    if (result.buffer != buffer) continue;
    const int id = result.output >= 0 ? index.outputs()[result.output] : result.value;
    return absl::StrCat("value \"", index.value(id).name(), "\": ");
  }
  return "";
}

absl::Status BoundPlan::Prepare(const RunEnvironment& environment) {
  for (const auto& [slot, input] : plan_->input_slots) {
    void* data = environment.inputs[input].data;
    // An empty input may come without an address, which to a kernel would mean "absent".
    views_[slot].data = data != nullptr ? data : arena_;
  }
  for (const auto& [slot, value] : plan_->carried_slots) {
    views_[slot].data = (*environment.carried)[value].view().data;
  }
  for (size_t b = 0; b < plan_->buffers.size(); ++b) {
    const ResultBuffer& wanted = plan_->buffers[b];
    if (wanted.type == ElementType::kString) {
      ASSIGN_OR_RETURN(Tensor strings, Tensor::Allocate(wanted.type, Shape{wanted.elements}));
      buffers_[b] = strings.buffer();
    } else if (wanted.type == ElementType::kComposite) {
      buffers_[b] = MakeComposite({}).buffer();
    } else {
      absl::StatusOr<BufferRef> buffer = environment.pool->Acquire(wanted.bytes);
      if (!buffer.ok()) {
        return absl::Status(buffer.status().code(),
                            absl::StrCat(NameOfBuffer(static_cast<int>(b), *environment.index),
                                         buffer.status().message()));
      }
      buffers_[b] = *std::move(buffer);
    }
  }
  for (const auto& [slot, buffer] : plan_->buffer_slots) {
    views_[slot].data = buffers_[buffer]->data();
  }
  return absl::OkStatus();
}

absl::Status BoundPlan::Run(const RunEnvironment& environment) {
  absl::Status status = Prepare(environment);
  // Providers catch what their libraries throw; what still gets here must not end the process.
  try {
    if (status.ok()) status = RunSteps(environment);
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("out of memory while running a kernel");
  } catch (const std::exception& e) {
    status = absl::InternalError(absl::StrCat("a kernel threw: ", e.what()));
  }
  if (status.ok()) DeliverResults(environment);
  for (BufferRef& buffer : buffers_) buffer = BufferRef();
  if (plan_->has_dynamic_outputs) {
    for (Tensor& tensor : dynamic_) tensor = Tensor();
  }
  return status;
}

absl::Status BoundPlan::RunSteps(const RunEnvironment& environment) {
  if (environment.observer != nullptr) {
    for (const auto& [id, tensor] : plan_->folded_values) {
      (*environment.observer)(environment.index->value(id).name(), tensor.view());
    }
  }
  for (const Step& step : plan_->steps) {
    std::optional<Profiler::Timing> timing;
    if (environment.profiler != nullptr && step.report >= 0) {
      timing.emplace(*environment.profiler, *plan_, step.report);
    }
    absl::Status status;
    if (step.kernel == nullptr) {
      status = Copy(step, *environment.stream);
    } else {
      StepContext context(*this, step, environment);
      status = step.kernel->Run(context);
      if (status.ok() && plan_->has_dynamic_outputs) status = CheckAllocated(step);
    }
    timing.reset();
    if (!status.ok()) {
      const std::string node =
          step.report >= 0 ? plan_->reports[step.report].node : "copy to an output";
      return absl::Status(status.code(), absl::StrCat(node, ": ", status.message()));
    }
    if (environment.observer != nullptr) Observe(step, environment);
  }
  return absl::OkStatus();
}

absl::Status BoundPlan::CheckAllocated(const Step& step) const {
  for (int i = 0; i < step.num_outputs; ++i) {
    const int slot = plan_->operands[step.first_operand + step.num_inputs + i];
    if (slot >= 0 && plan_->slots[slot].home == SlotHome::kDynamic && !dynamic_[slot].defined()) {
      return absl::InternalError(absl::StrCat("the kernel did not allocate output ", i));
    }
  }
  return absl::OkStatus();
}

absl::Status BoundPlan::Copy(const Step& step, Stream& stream) {
  const TensorView& from = views_[plan_->operands[step.first_operand]];
  const TensorView& to = views_[plan_->operands[step.first_operand + step.num_inputs]];
  if (from.type == ElementType::kComposite) {
    *to.as<Composite>() = CompositeOf(from);
    return absl::OkStatus();
  }
  if (from.type == ElementType::kString) {
    const absl::Span<const std::string> source = from.span<std::string>();
    std::copy(source.begin(), source.end(), to.span<std::string>().begin());
    return absl::OkStatus();
  }
  return stream.CopyToHost(to.data, from.data, from.num_bytes());
}

void BoundPlan::Observe(const Step& step, const RunEnvironment& environment) {
  if (plan_->operand_values.empty() || step.kernel == nullptr) return;
  const int first = step.first_operand + step.num_inputs;
  for (int i = first; i < first + step.num_outputs; ++i) {
    const int id = plan_->operand_values[i];
    if (id < 0) continue;
    (*environment.observer)(environment.index->value(id).name(), views_[plan_->operands[i]]);
  }
}

void BoundPlan::DeliverResults(const RunEnvironment& environment) {
  for (const Result& result : plan_->results) {
    const TensorView& view = views_[result.slot];
    Tensor tensor = result.buffer >= 0 ? Tensor(view.type, view.shape, buffers_[result.buffer])
                                       : dynamic_[result.slot];
    if (result.output >= 0) {
      (*environment.outputs)[result.output] = std::move(tensor);
    } else {
      (*environment.carried)[result.value] = std::move(tensor);
    }
  }
}

}  // namespace inferd::engine
