#include "server/http/rest_views.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "scheduler/admission.h"
#include "server/http/json/json_writer.h"
#include "server/wire/utf8.h"

namespace inferd::server {
namespace {

void Ints(JsonWriter& json, absl::string_view name, const std::vector<int64_t>& values) {
  json.Key(name);
  json.BeginArray();
  for (int64_t v : values) json.Int(v);
  json.EndArray();
}

void Number(JsonWriter& json, absl::string_view name, uint64_t value) {
  json.Key(name);
  json.Uint(value);
}

void Tensors(JsonWriter& json, absl::string_view name, const std::vector<TensorMetadata>& tensors) {
  json.Key(name);
  json.BeginArray();
  for (const TensorMetadata& tensor : tensors) {
    json.BeginObject();
    json.Field("name", tensor.name);
    json.Field("datatype", tensor.datatype);
    Ints(json, "shape", tensor.shape);
    json.EndObject();
  }
  json.EndArray();
}

void ConfigTensor(JsonWriter& json, const ModelConfigTensor& tensor, bool input) {
  json.BeginObject();
  json.Field("name", tensor.name);
  json.Field("data_type", tensor.data_type_name);
  if (input) json.Field("format", "FORMAT_NONE");
  Ints(json, "dims", tensor.dims);
  if (input) {
    json.Key("optional");
    json.Bool(tensor.optional);
  }
  json.EndObject();
}

void VersionPolicy(JsonWriter& json, const repository::VersionPolicy& policy) {
  using Kind = repository::VersionPolicy::Kind;
  json.Key("version_policy");
  json.BeginObject();
  switch (policy.kind) {
    case Kind::kLatest:
      json.Key("latest");
      json.BeginObject();
      Number(json, "num_versions", static_cast<uint64_t>(policy.latest));
      break;
    case Kind::kAll:
      json.Key("all");
      json.BeginObject();
      break;
    case Kind::kSpecific:
      json.Key("specific");
      json.BeginObject();
      Ints(json, "versions", policy.specific);
      break;
  }
  json.EndObject();
  json.EndObject();
}

void Batching(JsonWriter& json, const ModelConfigView& config) {
  json.Key("dynamic_batching");
  json.BeginObject();
  Ints(json, "preferred_batch_size", config.preferred_batch_size);
  Number(json, "max_queue_delay_microseconds", config.max_queue_delay_microseconds);
  json.Key("preserve_ordering");
  json.Bool(config.preserve_ordering);
  Number(json, "priority_levels", config.priority_levels);
  Number(json, "default_priority_level", config.default_priority_level);
  json.Key("default_queue_policy");
  json.BeginObject();
  json.Field("timeout_action", "REJECT");
  Number(json, "default_timeout_microseconds", config.default_timeout_microseconds);
  json.Key("allow_timeout_override");
  json.Bool(true);
  Number(json, "max_queue_size", config.max_queue_size);
  json.EndObject();
  json.EndObject();
}

void Duration(JsonWriter& json, absl::string_view name, const StatisticDurationView& duration) {
  json.Key(name);
  json.BeginObject();
  Number(json, "count", duration.count);
  Number(json, "ns", duration.ns);
  json.EndObject();
}

void Statistics(JsonWriter& json, const ModelStatisticsView& view) {
  json.BeginObject();
  json.Field("name", view.name);
  json.Field("version", view.version);
  Number(json, "last_inference", view.last_inference);
  Number(json, "inference_count", view.inference_count);
  Number(json, "execution_count", view.execution_count);
  json.Key("inference_stats");
  json.BeginObject();
  Duration(json, "success", view.success);
  Duration(json, "fail", view.fail);
  Duration(json, "queue", view.queue);
  Duration(json, "compute_input", view.compute_input);
  Duration(json, "compute_infer", view.compute_infer);
  Duration(json, "compute_output", view.compute_output);
  Duration(json, "cache_hit", {});
  Duration(json, "cache_miss", {});
  json.EndObject();
  json.Key("response_stats");
  json.BeginObject();
  json.EndObject();
  json.Key("batch_stats");
  json.BeginArray();
  for (const BatchStatisticsView& batch : view.batches) {
    json.BeginObject();
    Number(json, "batch_size", batch.batch_size);
    Duration(json, "compute_input", batch.compute_input);
    Duration(json, "compute_infer", batch.compute_infer);
    Duration(json, "compute_output", batch.compute_output);
    json.EndObject();
  }
  json.EndArray();
  json.Key("memory_usage");
  json.BeginArray();
  json.BeginObject();
  json.Field("type", "CPU");
  Number(json, "id", 0);
  Number(json, "byte_size", static_cast<uint64_t>(view.memory_bytes));
  json.EndObject();
  json.EndArray();
  json.EndObject();
}

}  // namespace

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kOutOfRange:
      return 413;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kDataLoss:
      return 500;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 400;
  }
}

HttpResponse JsonResponse(std::string text) {
  HttpResponse response;
  response.content_type = "application/json";
  response.text = std::move(text);
  return response;
}

HttpResponse ErrorResponse(int http_status, absl::string_view text) {
  std::string body;
  JsonWriter json(&body);
  json.BeginObject();
  // A text may quote what a client sent.
  json.Field("error", IsValidUtf8(text) ? std::string(text) : absl::CHexEscape(text));
  json.EndObject();
  HttpResponse response = JsonResponse(std::move(body));
  response.status = http_status;
  return response;
}

HttpResponse ErrorResponse(const absl::Status& status) {
  HttpResponse response = ErrorResponse(HttpStatusOf(status.code()), status.message());
  if (response.status == 429 || response.status == 503) {
    // The header counts whole seconds; one where the refusal has no opinion.
    const absl::Duration delay = scheduler::RetryAfter(status).value_or(absl::Seconds(1));
    response.headers.emplace_back(
        "Retry-After", absl::StrCat(absl::ToInt64Seconds(absl::Ceil(delay, absl::Seconds(1)))));
  }
  return response;
}

std::string ServerMetadataJson(const ServerContext& context) {
  std::string text;
  JsonWriter json(&text);
  json.BeginObject();
  json.Field("name", context.options().name);
  json.Field("version", context.options().version);
  json.Key("extensions");
  json.BeginArray();
  for (absl::string_view name : ProtocolExtensions()) json.String(name);
  json.EndArray();
  json.EndObject();
  return text;
}

std::string ToJson(const ModelMetadata& metadata) {
  std::string text;
  JsonWriter json(&text);
  json.BeginObject();
  json.Field("name", metadata.name);
  json.Key("versions");
  json.BeginArray();
  for (const std::string& version : metadata.versions) json.String(version);
  json.EndArray();
  json.Field("platform", metadata.platform);
  Tensors(json, "inputs", metadata.inputs);
  Tensors(json, "outputs", metadata.outputs);
  if (!metadata.properties.empty()) {
    json.Key("properties");
    json.BeginObject();
    for (const auto& [key, value] : metadata.properties) json.Field(key, value);
    json.EndObject();
  }
  json.EndObject();
  return text;
}

std::string ToJson(const ModelConfigView& config) {
  std::string text;
  JsonWriter json(&text);
  json.BeginObject();
  json.Field("name", config.name);
  json.Field("platform", config.platform);
  json.Field("backend", config.backend);
  VersionPolicy(json, config.version_policy);
  json.Key("max_batch_size");
  json.Int(config.max_batch_size);
  json.Key("input");
  json.BeginArray();
  for (const ModelConfigTensor& tensor : config.inputs) ConfigTensor(json, tensor, true);
  json.EndArray();
  json.Key("output");
  json.BeginArray();
  for (const ModelConfigTensor& tensor : config.outputs) ConfigTensor(json, tensor, false);
  json.EndArray();
  json.Key("instance_group");
  json.BeginArray();
  for (const ModelInstanceGroupView& group : config.instance_groups) {
    json.BeginObject();
    json.Field("name", group.name);
    json.Field("kind", group.gpu ? "KIND_GPU" : "KIND_CPU");
    json.Key("count");
    json.Int(group.count);
    Ints(json, "gpus", {group.gpus.begin(), group.gpus.end()});
    json.EndObject();
  }
  json.EndArray();
  json.Field("default_model_filename", config.default_model_filename);
  json.Key("parameters");
  json.BeginObject();
  for (const auto& [key, value] : config.parameters) {
    json.Key(key);
    json.BeginObject();
    json.Field("string_value", value);
    json.EndObject();
  }
  json.EndObject();
  if (config.max_batch_size > 0) Batching(json, config);
  json.EndObject();
  return text;
}

std::string ToJson(const std::vector<ModelStatisticsView>& statistics) {
  std::string text;
  JsonWriter json(&text);
  json.BeginObject();
  json.Key("model_stats");
  json.BeginArray();
  for (const ModelStatisticsView& view : statistics) Statistics(json, view);
  json.EndArray();
  json.EndObject();
  return text;
}

std::string ToJson(const std::vector<repository::IndexEntry>& index) {
  std::string text;
  JsonWriter json(&text);
  json.BeginArray();
  for (const repository::IndexEntry& entry : index) {
    json.BeginObject();
    json.Field("name", entry.name);
    if (!entry.version.empty()) json.Field("version", entry.version);
    const absl::string_view state = repository::ModelStateName(entry.state);
    if (!state.empty()) json.Field("state", state);
    if (!entry.reason.empty()) json.Field("reason", entry.reason);
    json.EndObject();
  }
  json.EndArray();
  return text;
}

}  // namespace inferd::server
