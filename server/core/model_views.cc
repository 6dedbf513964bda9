#include "server/core/model_views.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/runtime/model.h"
#include "engine/status_macros.h"
#include "server/wire/datatype.h"

namespace inferd::server {
namespace {

using engine::ElementType;
using repository::ModelVersion;
using scheduler::TensorSpec;

constexpr char kPlatform[] = "onnx_inferd";
constexpr char kBackend[] = "inferd";

std::string DatatypeOrOnnxName(ElementType type) {
  const absl::string_view name = DatatypeName(type);
  return std::string(name.empty() ? engine::ElementTypeName(type) : name);
}

// The protocol cannot say "any rank"; one free dimension is the nearest it has.
std::vector<int64_t> WireDims(const TensorSpec& spec) {
  return spec.any_rank ? std::vector<int64_t>{-1} : spec.dims;
}

std::vector<TensorMetadata> Describe(const std::vector<TensorSpec>& specs) {
  std::vector<TensorMetadata> result;
  for (const TensorSpec& spec : specs) {
    result.push_back({spec.name, DatatypeOrOnnxName(spec.type), WireDims(spec)});
  }
  return result;
}

// Enum inference.DataType of the wire.
std::pair<int, absl::string_view> ConfigDataType(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return {1, "TYPE_BOOL"};
    case ElementType::kUint8:
      return {2, "TYPE_UINT8"};
    case ElementType::kUint16:
      return {3, "TYPE_UINT16"};
    case ElementType::kUint32:
      return {4, "TYPE_UINT32"};
    case ElementType::kUint64:
      return {5, "TYPE_UINT64"};
    case ElementType::kInt8:
      return {6, "TYPE_INT8"};
    case ElementType::kInt16:
      return {7, "TYPE_INT16"};
    case ElementType::kInt32:
      return {8, "TYPE_INT32"};
    case ElementType::kInt64:
      return {9, "TYPE_INT64"};
    case ElementType::kFloat16:
      return {10, "TYPE_FP16"};
    case ElementType::kFloat32:
      return {11, "TYPE_FP32"};
    case ElementType::kFloat64:
      return {12, "TYPE_FP64"};
    case ElementType::kString:
      return {13, "TYPE_STRING"};
    case ElementType::kBfloat16:
      return {14, "TYPE_BF16"};
    default:
      return {0, "TYPE_INVALID"};
  }
}

std::vector<ModelConfigTensor> ConfigTensors(const std::vector<TensorSpec>& specs, bool batched) {
  std::vector<ModelConfigTensor> result;
  for (const TensorSpec& spec : specs) {
    const auto [number, name] = ConfigDataType(spec.type);
    ModelConfigTensor tensor{spec.name, number, std::string(name), WireDims(spec), spec.optional};
    if (batched && !spec.any_rank && !tensor.dims.empty()) tensor.dims.erase(tensor.dims.begin());
    result.push_back(std::move(tensor));
  }
  return result;
}

uint64_t Microseconds(absl::Duration d) {
  return d == absl::InfiniteDuration() ? 0 : std::max<int64_t>(0, absl::ToInt64Microseconds(d));
}

StatisticDurationView Sum(const scheduler::DurationSum& sum) {
  return {sum.count, static_cast<uint64_t>(absl::ToInt64Nanoseconds(sum.total))};
}

ModelStatisticsView Statistics(const ModelVersion& version) {
  const scheduler::ServableStatistics stats = version.servable->statistics();
  ModelStatisticsView view;
  view.name = version.name;
  view.version = version.version;
  if (stats.inference_count > 0) {
    view.last_inference = std::max<int64_t>(0, absl::ToUnixMillis(stats.last_inference));
  }
  view.inference_count = stats.inference_count;
  view.execution_count = stats.execution_count;
  view.success = Sum(stats.success);
  view.fail = Sum(stats.fail);
  view.queue = Sum(stats.queue);
  view.compute_input = Sum(stats.compute_input);
  view.compute_infer = Sum(stats.compute_infer);
  view.compute_output = Sum(stats.compute_output);
  for (const auto& [size, batch] : stats.batches) {
    view.batches.push_back({static_cast<uint64_t>(size),
                            Sum({batch.executions, batch.compute_input}),
                            Sum({batch.executions, batch.compute_infer}),
                            Sum({batch.executions, batch.compute_output})});
  }
  if (version.model != nullptr) {
    const engine::MemoryUse memory = version.model->memory();
    view.memory_bytes = memory.weight_bytes + memory.arena_bytes + memory.output_bytes;
  }
  return view;
}

}  // namespace

absl::StatusOr<ModelMetadata> GetModelMetadata(const ServerContext& context, absl::string_view name,
                                               absl::string_view version) {
  ASSIGN_OR_RETURN(const auto model, context.repository().Find(name, version));
  ModelMetadata result;
  result.name = model->name;
  for (const auto& ready : context.repository().ReadyVersions()) {
    if (ready->name == model->name) result.versions.push_back(ready->version);
  }
  result.platform = kPlatform;
  result.inputs = Describe(model->servable->options().inputs);
  result.outputs = Describe(model->servable->options().outputs);
  for (size_t i = 0; i < model->notes.size(); ++i) {
    result.properties[absl::StrCat("note.", i)] = model->notes[i];
  }
  return result;
}

absl::StatusOr<ModelConfigView> GetModelConfig(const ServerContext& context, absl::string_view name,
                                               absl::string_view version) {
  ASSIGN_OR_RETURN(const auto model, context.repository().Find(name, version));
  const scheduler::ServableOptions& options = model->servable->options();
  const repository::ModelConfig& config = model->config;
  const bool batched = options.batching.max_batch_size > 1;

  ModelConfigView view;
  view.name = model->name;
  view.platform = kPlatform;
  view.backend = kBackend;
  view.max_batch_size = batched ? static_cast<int>(options.batching.max_batch_size) : 0;
  view.inputs = ConfigTensors(options.inputs, batched);
  view.outputs = ConfigTensors(options.outputs, batched);
  view.version_policy = config.versions;
  view.default_model_filename = "model.onnx";
  for (size_t i = 0; i < config.instances.size(); ++i) {
    const repository::InstanceGroupConfig& group = config.instances[i];
    ModelInstanceGroupView g;
    g.name = absl::StrCat(model->name, "_", i);
    g.count = group.count;
    g.gpu = absl::string_view(group.device).substr(0, 4) == "cuda";
    int device = 0;
    if (g.gpu && group.device.size() > 5 &&
        absl::SimpleAtoi(absl::string_view(group.device).substr(5), &device)) {
      g.gpus.push_back(device);
    }
    view.instance_groups.push_back(std::move(g));
  }
  if (config.latency_budget) {
    view.parameters["latency_budget"] = absl::FormatDuration(*config.latency_budget);
  }
  view.parameters["precision"] = config.precision;
  view.preferred_batch_size = options.batching.preferred_sizes;
  view.max_queue_delay_microseconds = Microseconds(options.batching.max_delay);
  view.preserve_ordering = options.batching.preserve_order;
  if (options.queue.priorities > 1) {
    view.priority_levels = view.default_priority_level = options.queue.priorities;
  }
  view.default_timeout_microseconds = Microseconds(options.queue.timeout);
  view.max_queue_size = static_cast<uint32_t>(options.queue.max_requests);
  return view;
}

absl::StatusOr<std::vector<ModelStatisticsView>> GetModelStatistics(const ServerContext& context,
                                                                    absl::string_view name,
                                                                    absl::string_view version) {
  std::vector<ModelStatisticsView> result;
  if (!name.empty()) {
    // A name that cannot be served is an error, not an empty list.
    ASSIGN_OR_RETURN(const auto model, context.repository().Find(name, version));
    if (!version.empty()) {
      result.push_back(Statistics(*model));
      return result;
    }
  }
  for (const auto& ready : context.repository().ReadyVersions()) {
    if (name.empty() || ready->name == name) result.push_back(Statistics(*ready));
  }
  return result;
}

absl::StatusOr<bool> IsModelReady(const ServerContext& context, absl::string_view name,
                                  absl::string_view version) {
  const absl::Status status = context.repository().Find(name, version).status();
  if (absl::IsUnavailable(status)) return false;
  if (!status.ok()) return status;
  return true;
}

absl::StatusOr<std::vector<repository::IndexEntry>> GetRepositoryIndex(
    const ServerContext& context, absl::string_view repository_name, bool ready_only) {
  if (!repository_name.empty()) {
    return absl::UnimplementedError(absl::StrCat(
        "repository_name '", repository_name,
        "': repositories have no names here; leave it empty to see the models of all of them"));
  }
  std::vector<repository::IndexEntry> index = context.repository().Index();
  if (ready_only) {
    index.erase(std::remove_if(index.begin(), index.end(),
                               [](const repository::IndexEntry& entry) {
                                 return entry.state != repository::ModelState::kReady;
                               }),
                index.end());
  }
  return index;
}

}  // namespace inferd::server
