// config.yaml of one model: every key optional, every mistake located.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace inferd::repository {

struct InstanceGroupConfig {
  std::string device = "cpu";  // cpu, cuda, cuda:N
  int count = 1;
  int threads = 0;  // intra-op threads; 0: chosen by the daemon

  bool operator==(const InstanceGroupConfig&) const = default;
};

struct VersionPolicy {
  enum class Kind : uint8_t { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  int64_t latest = 1;
  std::vector<int64_t> specific;  // ascending, no duplicates

  bool operator==(const VersionPolicy&) const = default;
};

struct ModelConfig {
  std::optional<absl::Duration> latency_budget;
  std::optional<int64_t> max_batch_size;  // unset: chosen by the daemon where the model batches
  std::vector<InstanceGroupConfig> instances;  // empty: one on the CPU
  std::vector<std::string> providers;          // empty: cpu
  std::string precision = "fp32";
  bool verify = false;

  std::optional<absl::Duration> max_delay;
  std::vector<int64_t> preferred_sizes;
  bool preserve_order = false;

  int64_t queue_max_requests = 1000;
  int64_t queue_max_bytes = int64_t{256} << 20;
  std::optional<absl::Duration> queue_timeout;
  std::string queue_on_timeout = "reject";
  int queue_priorities = 1;

  VersionPolicy versions;

  // "FILE:LINE:COLUMN" of every key that was written, by its full name ("queue.timeout",
  // "instances[0].device"), so that a later refusal can point at it. Not part of the text form.
  std::map<std::string, std::string> written_at;
};

// Parses a config. Errors are INVALID_ARGUMENT and name `file`, line, column, key, what was found
// and what is allowed; an unknown key suggests the nearest known one. All mistakes are listed at
// once, contradictions between keys included.
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view yaml, absl::string_view file);
// As YAML that ParseModelConfig reads back.
std::string FormatModelConfig(const ModelConfig& config);
// Every key with its allowed values, default and meaning.
std::string DescribeModelConfig();

}  // namespace inferd::repository
