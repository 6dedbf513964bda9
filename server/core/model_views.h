// What the control calls answer, as plain structs: each protocol spells them in its own way. Field
// names are the wire's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/core/server_context.h"

namespace inferd::server {

struct TensorMetadata {
  std::string name;
  std::string datatype;
  std::vector<int64_t> shape;  // -1: any size
};

struct ModelMetadata {
  std::string name;
  std::vector<std::string> versions;  // those that are ready, ascending
  std::string platform;
  std::vector<TensorMetadata> inputs;
  std::vector<TensorMetadata> outputs;
  std::map<std::string, std::string> properties;
};

struct ModelConfigTensor {
  std::string name;
  int data_type = 0;           // number and name of enum inference.DataType
  std::string data_type_name;  // "TYPE_FP32"
  std::vector<int64_t> dims;   // without the batch dimension
  bool optional = false;
};

struct ModelInstanceGroupView {
  std::string name;
  bool gpu = false;
  int count = 1;
  std::vector<int> gpus;
};

struct ModelConfigView {
  std::string name;
  std::string platform;
  std::string backend;
  int max_batch_size = 0;  // 0: not batched
  std::vector<ModelConfigTensor> inputs;
  std::vector<ModelConfigTensor> outputs;
  repository::VersionPolicy version_policy;
  std::vector<ModelInstanceGroupView> instance_groups;
  std::string default_model_filename;
  std::map<std::string, std::string> parameters;  // what the vocabulary of others has no field for

  // dynamic_batching; where max_batch_size is 0 only the queue matters.
  std::vector<int64_t> preferred_batch_size;
  uint64_t max_queue_delay_microseconds = 0;
  bool preserve_ordering = false;
  uint64_t priority_levels = 0;
  uint64_t default_priority_level = 0;
  uint64_t default_timeout_microseconds = 0;
  uint32_t max_queue_size = 0;
};

struct StatisticDurationView {
  uint64_t count = 0;
  uint64_t ns = 0;
};

struct BatchStatisticsView {
  uint64_t batch_size = 0;
  StatisticDurationView compute_input, compute_infer, compute_output;
};

struct ModelStatisticsView {
  std::string name;
  std::string version;
  uint64_t last_inference = 0;  // milliseconds since the Unix epoch; 0: never
  uint64_t inference_count = 0;
  uint64_t execution_count = 0;
  StatisticDurationView success, fail, queue, compute_input, compute_infer, compute_output;
  std::vector<BatchStatisticsView> batches;
  int64_t memory_bytes = 0;  // weights, arenas and outputs together
};

// NOT_FOUND, UNAVAILABLE and INVALID_ARGUMENT as ModelRepository::Find.
absl::StatusOr<ModelMetadata> GetModelMetadata(const ServerContext& context, absl::string_view name,
                                               absl::string_view version);
absl::StatusOr<ModelConfigView> GetModelConfig(const ServerContext& context, absl::string_view name,
                                               absl::string_view version);
// An empty name asks for every ready model; an empty version for every ready version.
absl::StatusOr<std::vector<ModelStatisticsView>> GetModelStatistics(const ServerContext& context,
                                                                    absl::string_view name,
                                                                    absl::string_view version);
// False for a model that is known but cannot serve now; NOT_FOUND for an unknown one.
absl::StatusOr<bool> IsModelReady(const ServerContext& context, absl::string_view name,
                                  absl::string_view version);
// `repository_name` is not part of this server's world: anything but "" is UNIMPLEMENTED.
absl::StatusOr<std::vector<repository::IndexEntry>> GetRepositoryIndex(
    const ServerContext& context, absl::string_view repository_name, bool ready_only);

}  // namespace inferd::server
