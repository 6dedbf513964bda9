#include "server/grpc/control_rpcs.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "proto/health.pb.h"
#include "proto/inference.pb.h"
#include "server/core/model_views.h"
#include "server/core/repository_control.h"

namespace inferd::server::rpc {
namespace {

void Fill(
    const std::vector<TensorMetadata>& tensors,
    google::protobuf::RepeatedPtrField<inference::ModelMetadataResponse::TensorMetadata>* out) {
  for (const TensorMetadata& tensor : tensors) {
    auto* t = out->Add();
    t->set_name(tensor.name);
    t->set_datatype(tensor.datatype);
    t->mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  }
}

template <typename Message>
void FillTensor(const ModelConfigTensor& tensor, Message* out) {
  out->set_name(tensor.name);
  out->set_data_type(static_cast<inference::DataType>(tensor.data_type));
  out->mutable_dims()->Add(tensor.dims.begin(), tensor.dims.end());
}

void FillVersionPolicy(const repository::VersionPolicy& policy,
                       inference::ModelVersionPolicy* out) {
  using Kind = repository::VersionPolicy::Kind;
  switch (policy.kind) {
    case Kind::kLatest:
      out->mutable_latest()->set_num_versions(static_cast<uint32_t>(policy.latest));
      break;
    case Kind::kAll:
      out->mutable_all();
      break;
    case Kind::kSpecific:
      out->mutable_specific()->mutable_versions()->Add(policy.specific.begin(),
                                                       policy.specific.end());
      break;
  }
}

void FillConfig(const ModelConfigView& view, inference::ModelConfig* out) {
  out->set_name(view.name);
  out->set_platform(view.platform);
  out->set_backend(view.backend);
  out->set_max_batch_size(view.max_batch_size);
  for (const ModelConfigTensor& tensor : view.inputs) {
    auto* input = out->add_input();
    FillTensor(tensor, input);
    input->set_optional(tensor.optional);
  }
  for (const ModelConfigTensor& tensor : view.outputs) FillTensor(tensor, out->add_output());
  FillVersionPolicy(view.version_policy, out->mutable_version_policy());
  for (const ModelInstanceGroupView& group : view.instance_groups) {
    auto* g = out->add_instance_group();
    g->set_name(group.name);
    g->set_kind(group.gpu ? inference::ModelInstanceGroup::KIND_GPU
                          : inference::ModelInstanceGroup::KIND_CPU);
    g->set_count(group.count);
    g->mutable_gpus()->Add(group.gpus.begin(), group.gpus.end());
  }
  out->set_default_model_filename(view.default_model_filename);
  for (const auto& [key, value] : view.parameters) {
    (*out->mutable_parameters())[key].set_string_value(value);
  }
  if (view.max_batch_size > 0) {
    auto* batching = out->mutable_dynamic_batching();
    for (int64_t size : view.preferred_batch_size) {
      batching->add_preferred_batch_size(static_cast<int32_t>(size));
    }
    batching->set_max_queue_delay_microseconds(view.max_queue_delay_microseconds);
    batching->set_preserve_ordering(view.preserve_ordering);
    batching->set_priority_levels(view.priority_levels);
    batching->set_default_priority_level(view.default_priority_level);
    auto* queue = batching->mutable_default_queue_policy();
    queue->set_default_timeout_microseconds(view.default_timeout_microseconds);
    queue->set_allow_timeout_override(true);
    queue->set_max_queue_size(view.max_queue_size);
  }
}

void Fill(const StatisticDurationView& view, inference::StatisticDuration* out) {
  out->set_count(view.count);
  out->set_ns(view.ns);
}

void FillStatistics(const ModelStatisticsView& view, inference::ModelStatistics* out) {
  out->set_name(view.name);
  out->set_version(view.version);
  out->set_last_inference(view.last_inference);
  out->set_inference_count(view.inference_count);
  out->set_execution_count(view.execution_count);
  auto* stats = out->mutable_inference_stats();
  Fill(view.success, stats->mutable_success());
  Fill(view.fail, stats->mutable_fail());
  Fill(view.queue, stats->mutable_queue());
  Fill(view.compute_input, stats->mutable_compute_input());
  Fill(view.compute_infer, stats->mutable_compute_infer());
  Fill(view.compute_output, stats->mutable_compute_output());
  Fill({}, stats->mutable_cache_hit());
  Fill({}, stats->mutable_cache_miss());
  for (const BatchStatisticsView& batch : view.batches) {
    auto* row = out->add_batch_stats();
    row->set_batch_size(batch.batch_size);
    Fill(batch.compute_input, row->mutable_compute_input());
    Fill(batch.compute_infer, row->mutable_compute_infer());
    Fill(batch.compute_output, row->mutable_compute_output());
  }
  auto* memory = out->add_memory_usage();
  memory->set_type("CPU");
  memory->set_byte_size(static_cast<uint64_t>(view.memory_bytes));
}

absl::StatusOr<Parameters> ReadParameters(
    const google::protobuf::Map<std::string, inference::ModelRepositoryParameter>& map) {
  if (map.size() > kMaxParameters) {
    return absl::InvalidArgumentError(
        absl::StrCat(map.size(), " parameters; at most ", kMaxParameters, " are allowed"));
  }
  Parameters result;
  for (const auto& [name, value] : map) {
    if (value.has_bool_param()) {
      result.Set(name, value.bool_param());
    } else if (value.has_int64_param()) {
      result.Set(name, value.int64_param());
    } else if (value.has_string_param()) {
      result.Set(name, value.string_param());
    } else {
      result.Set(name, value.bytes_param());
    }
  }
  return result;
}

}  // namespace

absl::Status ServerLive(ServerContext& context, const inference::ServerLiveRequest&,
                        inference::ServerLiveResponse* response) {
  response->set_live(context.live());
  return absl::OkStatus();
}

absl::Status ServerReady(ServerContext& context, const inference::ServerReadyRequest&,
                         inference::ServerReadyResponse* response) {
  response->set_ready(context.ready());
  return absl::OkStatus();
}

absl::Status ModelReady(ServerContext& context, const inference::ModelReadyRequest& request,
                        inference::ModelReadyResponse* response) {
  ASSIGN_OR_RETURN(const bool ready, IsModelReady(context, request.name(), request.version()));
  response->set_ready(ready);
  return absl::OkStatus();
}

absl::Status ServerMetadata(ServerContext& context, const inference::ServerMetadataRequest&,
                            inference::ServerMetadataResponse* response) {
  response->set_name(context.options().name);
  response->set_version(context.options().version);
  for (absl::string_view name : ProtocolExtensions()) {
    response->add_extensions(std::string(name));
  }
  return absl::OkStatus();
}

absl::Status ModelMetadata(ServerContext& context, const inference::ModelMetadataRequest& request,
                           inference::ModelMetadataResponse* response) {
  ASSIGN_OR_RETURN(const server::ModelMetadata metadata,
                   GetModelMetadata(context, request.name(), request.version()));
  response->set_name(metadata.name);
  for (const std::string& version : metadata.versions) response->add_versions(version);
  response->set_platform(metadata.platform);
  Fill(metadata.inputs, response->mutable_inputs());
  Fill(metadata.outputs, response->mutable_outputs());
  for (const auto& [key, value] : metadata.properties) {
    (*response->mutable_properties())[key] = value;
  }
  return absl::OkStatus();
}

absl::Status ModelConfig(ServerContext& context, const inference::ModelConfigRequest& request,
                         inference::ModelConfigResponse* response) {
  ASSIGN_OR_RETURN(const ModelConfigView view,
                   GetModelConfig(context, request.name(), request.version()));
  FillConfig(view, response->mutable_config());
  return absl::OkStatus();
}

absl::Status ModelStatistics(ServerContext& context,
                             const inference::ModelStatisticsRequest& request,
                             inference::ModelStatisticsResponse* response) {
  ASSIGN_OR_RETURN(const auto statistics,
                   GetModelStatistics(context, request.name(), request.version()));
  for (const ModelStatisticsView& view : statistics) {
    FillStatistics(view, response->add_model_stats());
  }
  return absl::OkStatus();
}

absl::Status RepositoryIndex(ServerContext& context,
                             const inference::RepositoryIndexRequest& request,
                             inference::RepositoryIndexResponse* response) {
  ASSIGN_OR_RETURN(const auto index,
                   GetRepositoryIndex(context, request.repository_name(), request.ready()));
  for (const repository::IndexEntry& entry : index) {
    auto* model = response->add_models();
    model->set_name(entry.name);
    model->set_version(entry.version);
    model->set_state(std::string(repository::ModelStateName(entry.state)));
    model->set_reason(entry.reason);
  }
  return absl::OkStatus();
}

absl::Status RepositoryModelLoad(ServerContext& context,
                                 const inference::RepositoryModelLoadRequest& request,
                                 inference::RepositoryModelLoadResponse*) {
  ASSIGN_OR_RETURN(const Parameters parameters, ReadParameters(request.parameters()));
  return LoadModel(context, request.repository_name(), request.model_name(), parameters);
}

absl::Status RepositoryModelUnload(ServerContext& context,
                                   const inference::RepositoryModelUnloadRequest& request,
                                   inference::RepositoryModelUnloadResponse*) {
  ASSIGN_OR_RETURN(const Parameters parameters, ReadParameters(request.parameters()));
  return UnloadModel(context, request.repository_name(), request.model_name(), parameters);
}

absl::Status HealthCheck(ServerContext& context,
                         const grpc::health::v1::HealthCheckRequest& request,
                         grpc::health::v1::HealthCheckResponse* response) {
  bool ready = context.ready();
  if (!request.service().empty() && request.service() != "inference.GRPCInferenceService") {
    ASSIGN_OR_RETURN(const bool model_ready, IsModelReady(context, request.service(), ""));
    ready = model_ready && !context.draining();
  }
  response->set_status(ready ? grpc::health::v1::HealthCheckResponse::SERVING
                             : grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  return absl::OkStatus();
}

}  // namespace inferd::server::rpc
