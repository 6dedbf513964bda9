#include "engine/runtime/context.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/device/denormals.h"
#include "engine/status_macros.h"

namespace inferd::engine {

absl::StatusOr<std::unique_ptr<Context>> ContextImpl::Create(std::shared_ptr<ModelImpl> model,
                                                             const ContextOptions& options) {
  constexpr int kMaxThreads = 1024;
  if (options.threads < 1 || options.threads > kMaxThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("threads must be between 1 and ", kMaxThreads, ", found ", options.threads));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, CpuDevice().NewStream(options.threads));
  return std::unique_ptr<Context>(new ContextImpl(std::move(model), options, std::move(stream)));
}

ContextImpl::ContextImpl(std::shared_ptr<ModelImpl> model, const ContextOptions& options,
                         std::unique_ptr<Stream> stream)
    : model_(std::move(model)),
      options_(options),
      stream_(std::move(stream)),
      pool_(BufferPool::Create(CpuDevice(), model_->counters())),
      arena_(CpuDevice(), model_->counters()),
      results_(model_->outputs().size()) {
  borrowed_.reserve(results_.size());
}

absl::Status ContextImpl::Run(absl::Span<const TensorView> inputs, std::vector<Tensor>* outputs) {
  RETURN_IF_ERROR(model_->CheckInputs(inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].data == nullptr && inputs[i].num_elements() > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input \"", model_->inputs()[i].name, "\": has no data"));
    }
  }
  ReleaseOutputs(inputs, *outputs);
  absl::Status status;
  {
    // The reference keeps denormals: it defines what is right.
    std::optional<ScopedFlushDenormals> flush;
    if (!model_->options().eager) flush.emplace();
    status = RunSegments(inputs);
  }
  arena_.EndRun();
  borrowed_.clear();
  if (!status.ok()) {
    for (Tensor& result : results_) result = Tensor();
    outputs->clear();
    return status;
  }
  outputs->resize(results_.size());
  for (size_t i = 0; i < results_.size(); ++i) (*outputs)[i] = std::exchange(results_[i], Tensor());
  return absl::OkStatus();
}

void ContextImpl::ReleaseOutputs(absl::Span<const TensorView> inputs,
                                 std::vector<Tensor>& outputs) {
  for (Tensor& output : outputs) {
    if (!output.defined()) continue;
    const auto* begin = static_cast<const char*>(output.buffer()->data());
    const char* end = begin + output.buffer()->size();
    const bool read = std::any_of(inputs.begin(), inputs.end(), [&](const TensorView& input) {
      return input.data >= begin && input.data < end;
    });
    if (read) {
      borrowed_.push_back(std::move(output));
    }
    output = Tensor();
  }
}

absl::Status ContextImpl::RunSegments(absl::Span<const TensorView> inputs) {
  RunEnvironment environment;
  environment.inputs = inputs;
  environment.outputs = &results_;
  environment.carried = &carried_;
  environment.pool = pool_.get();
  environment.stream = stream_.get();
  environment.profiler = options_.profile ? &profiler_ : nullptr;
  environment.observer = model_->options().eager && observer_ ? &observer_ : nullptr;
  environment.index = &model_->index();

  ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan,
                   model_->FirstPlan(inputs, options_.threads, key_));
  absl::Status status;
  for (size_t position = 0; status.ok(); ++position) {
    if (plan->continuation != nullptr && carried_.empty()) {
      carried_.resize(model_->index().num_values());
    }
    if (position == segments_.size()) segments_.push_back(std::make_unique<BoundPlan>());
    BoundPlan& segment = *segments_[position];
    absl::StatusOr<void*> arena = arena_.Reserve(plan->arena_bytes);
    if (!arena.ok()) {
      status = absl::Status(arena.status().code(),
                            absl::StrCat("activations: ", arena.status().message()));
      break;
    }
    status = segment.Bind(plan, *arena);
    if (status.ok()) status = segment.Run(environment);
    if (!status.ok() || plan->continuation == nullptr) break;
    absl::StatusOr<std::shared_ptr<const Plan>> next =
        model_->NextPlan(*plan, inputs, carried_, options_.threads, key_);
    if (next.ok()) {
      plan = *std::move(next);
    } else {
      status = next.status();
    }
  }
  for (Tensor& value : carried_) value = Tensor();
  return status;
}

}  // namespace inferd::engine
