#include "model_repository/model_config.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/command_line/nearest_name.h"
#include "engine/status_macros.h"
#include "model_repository/schema/key_table.h"
#include "model_repository/schema/quantity.h"
#include "model_repository/schema/yaml_tree.h"

namespace inferd::repository {
namespace {

constexpr int64_t kLargestBatch = 1 << 16;

absl::StatusOr<int64_t> PositiveNumber(const YamlNode& node, absl::string_view meaning) {
  int64_t value = 0;
  if (node.kind != YamlNode::Kind::kScalar || !absl::SimpleAtoi(node.scalar, &value) || value < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "found ", node.Describe(), "; allowed: ", meaning, ", a whole number of at least 1"));
  }
  return value;
}

absl::Status ParseVersions(const YamlNode& node, absl::string_view allowed, VersionPolicy* policy) {
  using Kind = VersionPolicy::Kind;
  const auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("found ", node.Describe(), "; allowed: ", allowed));
  };
  if (node.kind == YamlNode::Kind::kScalar) {
    if (node.scalar == "latest") {
      *policy = {.kind = Kind::kLatest, .latest = 1, .specific = {}};
    } else if (node.scalar == "all") {
      *policy = {.kind = Kind::kAll, .latest = 1, .specific = {}};
    } else {
      return refuse();
    }
    return absl::OkStatus();
  }
  if (node.kind == YamlNode::Kind::kMap) {
    if (node.entries.size() != 1 || node.entries[0].key.scalar != "latest") return refuse();
    ASSIGN_OR_RETURN(int64_t latest,
                     PositiveNumber(node.entries[0].value, "{latest: N} with N versions"));
    *policy = {.kind = Kind::kLatest, .latest = latest, .specific = {}};
    return absl::OkStatus();
  }
  if (node.kind != YamlNode::Kind::kList || node.items.empty()) return refuse();
  VersionPolicy result{.kind = Kind::kSpecific, .latest = 1, .specific = {}};
  for (const YamlNode& item : node.items) {
    ASSIGN_OR_RETURN(int64_t version, PositiveNumber(item, "a list of version numbers"));
    result.specific.push_back(version);
  }
  std::sort(result.specific.begin(), result.specific.end());
  result.specific.erase(std::unique(result.specific.begin(), result.specific.end()),
                        result.specific.end());
  *policy = std::move(result);
  return absl::OkStatus();
}

std::string FormatVersions(const VersionPolicy& policy) {
  switch (policy.kind) {
    case VersionPolicy::Kind::kLatest:
      return policy.latest == 1 ? "latest" : absl::StrCat("{latest: ", policy.latest, "}");
    case VersionPolicy::Kind::kAll:
      return "all";
    case VersionPolicy::Kind::kSpecific:
      return absl::StrCat("[", absl::StrJoin(policy.specific, ", "), "]");
  }
  return "latest";
}

KeyTable InstanceKeys(InstanceGroupConfig& group) {
  return {
      {.name = "device",
       .field = &group.device,
       .doc = "Where the instances run: cpu, cuda (every GPU) or cuda:N (one GPU)"},
      {.name = "count",
       .field = &group.count,
       .doc = "Instances on that device, each with its own execution context",
       .min = 1,
       .max = 1024},
      {.name = "threads",
       .field = &group.threads,
       .doc = "Threads one inference is split over; 0 lets the daemon choose",
       .min = 0,
       .max = 1024},
  };
}

// The one list of keys.
KeyTable Keys(ModelConfig& c) {
  const std::string versions_allowed = "latest, {latest: N}, all, or a list such as [1, 3]";
  return {
      {.name = "latency_budget",
       .field = &c.latency_budget,
       .doc = "The P99 to keep for queue and compute together; batch sizes follow from it",
       .when_unset = "none: a batch starts as soon as an instance is idle",
       .min_duration = absl::Microseconds(1)},
      {.name = "max_batch_size",
       .field = &c.max_batch_size,
       .doc = "Most rows one execution may carry; 1 turns batching off",
       .when_unset = "32 where every input and output has a free first dimension, else 1",
       .min = 1,
       .max = kLargestBatch},
      {.name = "instances",
       .field = MappingList{.size = [&c] { return c.instances.size(); },
                            .at = [&c](size_t i) { return InstanceKeys(c.instances[i]); },
                            .append = [&c] { c.instances.emplace_back(); },
                            .clear = [&c] { c.instances.clear(); }},
       .doc = "Execution contexts, by device",
       .when_unset = "one on the CPU with every thread the process may use"},
      {.name = "providers",
       .field = &c.providers,
       .doc = "Execution providers by priority; the first that supports an operator runs it. One "
              "named alone must be there",
       .when_unset = "[cpu]",
       .choices = {"cpu", "cuda"}},
      {.name = "precision",
       .field = &c.precision,
       .doc = "Arithmetic of the compiled model",
       .choices = {"fp32", "fp16", "bf16", "int8", "auto"}},
      {.name = "verify",
       .field = &c.verify,
       .doc = "Compare the optimized plan with the reference kernels once at load, and refuse to "
              "serve it where it is wrong"},
      {.name = "batching.max_delay",
       .field = &c.max_delay,
       .doc = "Longest time a batch is held open for more requests",
       .when_unset = "follows from latency_budget"},
      {.name = "batching.preferred_sizes",
       .field = &c.preferred_sizes,
       .doc = "Batch sizes that close a batch at once",
       .when_unset = "none",
       .min = 1,
       .max = kLargestBatch},
      {.name = "batching.preserve_order",
       .field = &c.preserve_order,
       .doc = "Answer requests in the order they arrived"},
      {.name = "queue.max_requests",
       .field = &c.queue_max_requests,
       .doc = "Requests that may wait; one more is refused at once",
       .min = 1,
       .max = 10'000'000},
      {.name = "queue.max_bytes",
       .field = ByteSize{&c.queue_max_bytes},
       .doc = "Input bytes that may wait; more is refused at once",
       .min = 1},
      {.name = "queue.timeout",
       .field = &c.queue_timeout,
       .doc = "Longest wait of a request that brings no deadline of its own",
       .when_unset = "no limit",
       .min_duration = absl::Microseconds(1)},
      {.name = "queue.on_timeout",
       .field = &c.queue_on_timeout,
       .doc = "What happens to a request whose wait is over",
       .choices = {"reject"}},
      {.name = "queue.priorities",
       .field = &c.queue_priorities,
       .doc = "Priority levels; level 0 is the most urgent",
       .min = 1,
       .max = 64},
      {.name = "versions",
       .field = CustomValue{.allowed = versions_allowed,
                            .parse =
                                [&c, versions_allowed](const YamlNode& node) {
                                  return ParseVersions(node, versions_allowed, &c.versions);
                                },
                            .format = [&c] { return FormatVersions(c.versions); }},
       .doc = "Which version directories are served"},
  };
}

bool IsDevice(absl::string_view device) {
  if (device == "cpu" || device == "cuda") return true;
  int index = -1;
  return absl::StartsWith(device, "cuda:") && device.size() > 5 && absl::ascii_isdigit(device[5]) &&
         absl::SimpleAtoi(device.substr(5), &index);
}

Position At(const KeyPositions& positions, const std::string& key) {
  const auto it = positions.find(key);
  return it == positions.end() ? Position{} : it->second;
}

// What no single key can see.
void CheckTogether(const ModelConfig& c, const KeyPositions& at, Diagnostics& diagnostics) {
  for (size_t i = 0; i < c.instances.size(); ++i) {
    const std::string& device = c.instances[i].device;
    if (IsDevice(device)) continue;
    const std::string key = absl::StrCat("instances[", i, "].device");
    diagnostics.Add(At(at, key), key,
                    absl::StrCat("found \"", device, "\"; allowed: cpu, cuda, cuda:0, cuda:1, ...",
                                 engine::DidYouMean(device, {"cpu", "cuda"})));
  }
  if (at.contains("instances") && c.instances.empty() && diagnostics.empty()) {
    diagnostics.Add(At(at, "instances"), "instances",
                    "found an empty list; allowed: at least one group, or leave the key out");
  }
  if (at.contains("providers") && c.providers.empty() && diagnostics.empty()) {
    diagnostics.Add(
        At(at, "providers"), "providers",
        "found an empty list; allowed: at least one of cpu, cuda, or leave the key out");
  }
  if (c.max_batch_size.has_value()) {
    for (size_t i = 0; i < c.preferred_sizes.size(); ++i) {
      if (c.preferred_sizes[i] <= *c.max_batch_size) continue;
      diagnostics.Add(At(at, "batching.preferred_sizes"),
                      absl::StrCat("batching.preferred_sizes[", i, "]"),
                      absl::StrCat("found ", c.preferred_sizes[i], ", more than max_batch_size ",
                                   *c.max_batch_size, "; raise max_batch_size or drop the size"));
    }
  }
  if (c.max_delay.has_value() && c.latency_budget.has_value() &&
      *c.max_delay >= *c.latency_budget) {
    diagnostics.Add(
        At(at, "batching.max_delay"), "batching.max_delay",
        absl::StrCat("found ", DurationText(*c.max_delay), ", which alone uses up latency_budget ",
                     DurationText(*c.latency_budget),
                     "; make it shorter, or leave it out: it follows from the budget"));
  }
  if (c.max_delay.has_value() && c.queue_timeout.has_value() && *c.max_delay >= *c.queue_timeout) {
    diagnostics.Add(At(at, "batching.max_delay"), "batching.max_delay",
                    absl::StrCat("found ", DurationText(*c.max_delay), ", not below queue.timeout ",
                                 DurationText(*c.queue_timeout),
                                 ": requests would expire while their batch is held open"));
  }
}

}  // namespace

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view yaml, absl::string_view file) {
  ASSIGN_OR_RETURN(YamlNode root, ParseYaml(yaml, file));
  ModelConfig config;
  Diagnostics diagnostics{std::string(file)};
  KeyPositions positions;
  ReadYaml(root, Keys(config), diagnostics, &positions);
  CheckTogether(config, positions, diagnostics);
  RETURN_IF_ERROR(diagnostics.status());
  for (const auto& [key, position] : positions) {
    config.written_at[key] = absl::StrCat(file, ":", position.line, ":", position.column);
  }
  return config;
}

std::string FormatModelConfig(const ModelConfig& config) {
  ModelConfig copy = config;
  return WriteYaml(Keys(copy));
}

std::string DescribeModelConfig() {
  ModelConfig defaults;
  return DescribeKeys(Keys(defaults));
}

}  // namespace inferd::repository
