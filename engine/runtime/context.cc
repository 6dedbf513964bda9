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
  std::shared_ptr<BufferPool> pool = BufferPool::Create(CpuDevice(), model->counters());
  return std::unique_ptr<Context>(
      new ContextImpl(std::move(model), options, std::move(stream), std::move(pool), nullptr));
}

ContextImpl::ContextImpl(std::shared_ptr<ModelImpl> model, const ContextOptions& options,
                         std::shared_ptr<Stream> stream, std::shared_ptr<BufferPool> pool,
                         Profiler* profiler)
    : model_(std::move(model)),
      options_(options),
      stream_(std::move(stream)),
      pool_(std::move(pool)),
      arena_(CpuDevice(), model_->counters()),
      own_profiler_(options.profile && profiler == nullptr ? std::optional<Profiler>(std::in_place)
                                                           : std::nullopt),
      profiler_(own_profiler_.has_value() ? &*own_profiler_ : profiler),
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
    if (own_profiler_.has_value()) own_profiler_->BeginRun();
    status = RunSegments(inputs);
    if (own_profiler_.has_value()) own_profiler_->EndRun();
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

void ContextImpl::SetObserver(TensorObserver fn) {
  for (auto& [body, entry] : bodies_) entry.context->SetObserver(fn);
  observer_ = std::move(fn);
}

absl::Status ContextImpl::RunBody(const Node& node, absl::string_view body,
                                  absl::Span<const TensorView> inputs,
                                  std::vector<Tensor>* outputs) {
  const BodyModel& model = model_->body(node, body);
  BodyContext& entry = bodies_[&model];
  if (entry.context == nullptr) {
    entry.node = &node;
    entry.context = std::unique_ptr<ContextImpl>(
        new ContextImpl(model.model, options_, stream_, pool_, profiler_));
    entry.context->observer_ = observer_;
  }
  entry.inputs.clear();
  for (int i : model.taken_inputs) {
    if (i >= static_cast<int>(inputs.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat(body, " expects ", i + 1, " inputs or more, found ", inputs.size()));
    }
    entry.inputs.push_back(inputs[i]);
  }
  if (profiler_ != nullptr) profiler_->EnterBody(body);
  absl::Status status = entry.context->Run(entry.inputs, outputs);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(body, ": ", status.message()));
}

std::vector<NodeProfile> ContextImpl::Profile() const {
  return profiler_ == nullptr ? std::vector<NodeProfile>() : profiler_->Profiles();
}

RunTrace ContextImpl::LastRun() const {
  return profiler_ == nullptr ? RunTrace() : profiler_->LastRun();
}

std::vector<NodeReport> ContextImpl::PlannedNodes() const {
  std::vector<NodeReport> nodes;
  for (size_t s = 0; s < segments_run_; ++s) {
    const bool last = s + 1 == segments_run_;
    for (const NodeReport& report : segments_[s]->plan()->reports) {
      if (!last && report.kernel == kPlannedLater) continue;
      nodes.push_back(report);
      std::vector<std::pair<std::string, const ContextImpl*>> bodies;
      for (const auto& [body, entry] : bodies_) {
        if (entry.node != nullptr && entry.node->display_name() == report.node) {
          bodies.emplace_back(body->attribute, entry.context.get());
        }
      }
      std::sort(bodies.begin(), bodies.end());
      for (const auto& [attribute, context] : bodies) {
        for (NodeReport& inner : context->PlannedNodes()) {
          inner.inside = InsideOf("", report.node, attribute) +
                         (inner.inside.empty() ? "" : " > " + inner.inside);
          nodes.push_back(std::move(inner));
        }
      }
    }
  }
  return nodes;
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
  environment.profiler = profiler_;
  environment.observer = model_->options().eager && observer_ ? &observer_ : nullptr;
  environment.index = &model_->index();
  environment.bodies = this;

  ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan,
                   model_->FirstPlan(inputs, options_.threads, key_));
  absl::Status status;
  segments_run_ = 0;
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
    if (status.ok()) segments_run_ = position + 1;
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
