#include "model_repository/load_version.h"

#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/device/thread_pool.h"
#include "engine/providers/cpu/cpu_provider.h"
#include "engine/status_macros.h"
#include "model_repository/batch_axis.h"
#include "model_repository/effective_config.h"
#include "model_repository/row_check.h"
#include "model_repository/trial_inputs.h"
#include "model_repository/verify_plan.h"

namespace inferd::repository {
namespace {

// An engine context as the scheduler sees it. The context shares ownership of what it needs of
// the model; `model` keeps the rest alive as long as an instance may run.
class EngineExecutor final : public scheduler::Executor {
 public:
  EngineExecutor(std::shared_ptr<engine::Model> model, std::unique_ptr<engine::Context> context)
      : model_(std::move(model)), context_(std::move(context)) {}

  absl::Status Execute(absl::Span<const engine::TensorView> inputs,
                       std::vector<engine::Tensor>* outputs) override {
    return context_->Run(inputs, outputs);
  }

 private:
  std::shared_ptr<engine::Model> model_;
  std::unique_ptr<engine::Context> context_;
};

absl::StatusOr<std::vector<scheduler::TensorSpec>> MakeSpecs(
    const std::vector<engine::TensorInfo>& infos, const std::string& what, bool batched) {
  std::vector<scheduler::TensorSpec> specs;
  for (const engine::TensorInfo& info : infos) {
    ASSIGN_OR_RETURN(scheduler::TensorSpec spec, MakeTensorSpec(info, what));
    if (batched && !spec.optional) spec.dims[0] = -1;
    specs.push_back(std::move(spec));
  }
  return specs;
}

// The second of two runs: the first builds the plan.
std::optional<absl::Duration> MeasureAlone(engine::Model& model, scheduler::Clock& clock) {
  bool has_free_dims = false;
  const auto tensors = MakeTrialInputs(model.inputs(), /*rows=*/1, /*size=*/1, &has_free_dims);
  // The time at another size would say nothing.
  if (!tensors.ok() || has_free_dims) return std::nullopt;
  const auto context = model.NewContext({.threads = 1});
  if (!context.ok()) return std::nullopt;
  std::vector<engine::TensorView> inputs;
  for (const engine::Tensor& tensor : *tensors) inputs.push_back(tensor.view());
  std::vector<engine::Tensor> outputs;
  if (!(*context)->Run(inputs, &outputs).ok()) return std::nullopt;
  const absl::Time start = clock.Now();
  if (!(*context)->Run(inputs, &outputs).ok()) return std::nullopt;
  return clock.Now() - start;
}

scheduler::ServableOptions MakeOptions(const ModelVersion& version) {
  const ModelConfig& config = version.config;
  scheduler::ServableOptions options;
  options.model = version.name;
  options.version = version.version;
  options.batching.max_batch_size = *config.max_batch_size;
  if (config.latency_budget) options.batching.latency_budget = *config.latency_budget;
  if (config.max_delay) options.batching.max_delay = *config.max_delay;
  options.batching.preferred_sizes = config.preferred_sizes;
  options.batching.preserve_order = config.preserve_order;
  options.queue.max_requests = config.queue_max_requests;
  options.queue.max_bytes = config.queue_max_bytes;
  if (config.queue_timeout) options.queue.timeout = *config.queue_timeout;
  options.queue.priorities = config.queue_priorities;
  return options;
}

absl::StatusOr<std::unique_ptr<ModelVersion>> Load(const VersionToLoad& from,
                                                   const RepositoryOptions& options) {
  const absl::Time start = options.clock->Now();
  auto version = std::make_unique<ModelVersion>();
  version->name = from.model;
  version->version = absl::StrCat(from.directory.number);
  version->config = from.config;
  std::vector<std::string> notes;

  ASSIGN_OR_RETURN(std::string path, FindModelFile(from.directory));
  engine::ModelOptions model_options;
  model_options.providers = {&engine::CpuProvider()};
  // The protocol carries tensors.
  model_options.tensor_outputs_for_maps = true;
  ASSIGN_OR_RETURN(version->model, engine::Model::Load(path, model_options));
  engine::Model& model = *version->model;
  RETURN_IF_ERROR(ResolveInstances(
      version->config, engine::AvailableThreads(),
      [&] { return MeasureAlone(model, *options.clock); }, notes));

  std::vector<std::pair<scheduler::InstanceOptions, std::unique_ptr<engine::Context>>> contexts;
  for (const InstanceGroupConfig& group : version->config.instances) {
    for (int i = 0; i < group.count; ++i) {
      ASSIGN_OR_RETURN(auto context, model.NewContext({.threads = group.threads}));
      contexts.emplace_back(
          scheduler::InstanceOptions{.device = group.device, .threads = group.threads},
          std::move(context));
    }
  }

  if (version->config.verify) {
    ASSIGN_OR_RETURN(std::string verified, VerifyPlan(path, *contexts[0].second));
    notes.push_back(std::move(verified));
  }
  RETURN_IF_ERROR(ResolveBatching(
      version->config, FindBatchAxis(model.inputs(), model.outputs()),
      [&] { return CheckRows(*contexts[0].second, model.inputs(), model.outputs()); }, notes));
  const bool batched = *version->config.max_batch_size > 1;

  scheduler::ServableOptions servable = MakeOptions(*version);
  ASSIGN_OR_RETURN(servable.inputs, MakeSpecs(model.inputs(), "input", batched));
  ASSIGN_OR_RETURN(servable.outputs, MakeSpecs(model.outputs(), "output", batched));
  for (auto& [instance, context] : contexts) {
    servable.instances.emplace_back(
        instance, std::make_unique<EngineExecutor>(version->model, std::move(context)));
  }
  std::shared_ptr<scheduler::ServableObserver> observer;
  if (options.observer_factory) {
    observer = options.observer_factory(version->name, version->version);
  }
  ASSIGN_OR_RETURN(
      version->servable,
      scheduler::Servable::Create(std::move(servable), *options.clock, std::move(observer)));
  // Zero inputs suit most models, not all: an empty string is no number. Such a model is served
  // all the same and builds its plans at its first requests.
  if (absl::Status warm = version->servable->WarmUp(); !warm.ok()) {
    notes.push_back(
        absl::StrCat("not warmed up, the first requests will be slower: ", warm.message()));
  }

  version->notes.push_back(DescribeBatching(version->config));
  version->notes.insert(version->notes.end(), notes.begin(), notes.end());
  version->notes.insert(version->notes.end(), model.notes().begin(), model.notes().end());
  version->load_time = options.clock->Now() - start;
  return version;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ModelVersion>> LoadVersion(const VersionToLoad& version,
                                                          const RepositoryOptions& options) {
  // A model is input from outside: whatever it provokes in a library must not end the daemon.
  try {
    return Load(version, options);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to load the model");
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("loading the model failed: ", e.what()));
  }
}

}  // namespace inferd::repository
