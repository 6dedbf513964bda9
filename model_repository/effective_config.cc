#include "model_repository/effective_config.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status_macros.h"
#include "model_repository/schema/quantity.h"

namespace inferd::repository {
namespace {

// "config.yaml:3:12: queue.timeout: " where the key was written, else "queue.timeout: ".
std::string Where(const ModelConfig& config, const std::string& key) {
  const auto it = config.written_at.find(key);
  return it == config.written_at.end() ? absl::StrCat(key, ": ")
                                       : absl::StrCat(it->second, ": ", key, ": ");
}

bool OnGpu(const std::string& device) { return device != "cpu"; }

absl::Status RefuseGpu(const ModelConfig& config, const std::string& key,
                       const std::string& found) {
  return absl::UnimplementedError(absl::StrCat(
      Where(config, key), "found ", found, ", but this build has no CUDA provider; allowed: cpu"));
}

}  // namespace

absl::Status ResolveInstances(ModelConfig& config, int threads, const TimeAlone& alone,
                              std::vector<std::string>& notes) {
  if (config.precision != "fp32" && config.precision != "auto") {
    return absl::UnimplementedError(absl::StrCat(
        Where(config, "precision"), "found ", config.precision,
        ", which this build cannot compile to; allowed: fp32, or auto, which means fp32 here"));
  }
  config.precision = "fp32";

  const bool had_cuda = std::count(config.providers.begin(), config.providers.end(), "cuda") > 0;
  if (had_cuda) {
    if (config.providers.size() == 1) return RefuseGpu(config, "providers", "[cuda]");
    notes.push_back(
        "providers: cuda is passed over, this build has no CUDA provider; cpu runs all");
  }
  config.providers = {"cpu"};

  if (config.instances.empty()) {
    // Each instance has its own memory for activations; more would rarely be busy at once.
    constexpr int kMostInstances = 8;
    int count = std::min(threads, kMostInstances);
    if (count > 1 && config.latency_budget.has_value()) {
      // Half the budget is left for the wait behind the batch before.
      const std::optional<absl::Duration> time = alone();
      if (time.has_value() && *time > *config.latency_budget / 2) {
        notes.push_back(
            absl::StrCat("one instance with all threads: one inference on one thread takes ",
                         DurationText(absl::Trunc(*time, absl::Microseconds(1))),
                         " of the budget of ", DurationText(*config.latency_budget)));
        count = 1;
      }
    }
    config.instances.push_back({.device = "cpu", .count = count, .threads = threads / count});
  }
  int total_instances = 0;
  for (size_t i = 0; i < config.instances.size(); ++i) {
    if (OnGpu(config.instances[i].device)) {
      return RefuseGpu(config, absl::StrCat("instances[", i, "].device"),
                       config.instances[i].device);
    }
    total_instances += config.instances[i].count;
  }
  int total_threads = 0;
  for (InstanceGroupConfig& group : config.instances) {
    if (group.threads == 0) group.threads = std::max(1, threads / total_instances);
    total_threads += group.count * group.threads;
  }
  if (total_threads > threads) {
    notes.push_back(absl::StrCat("instances ask for ", total_threads,
                                 " threads, but the process may use ", threads,
                                 ": they will compete, which is slower than fewer threads each"));
  }
  return absl::OkStatus();
}

absl::Status ResolveBatching(ModelConfig& config, const BatchAxis& axis,
                             const std::function<RowCheck()>& rows,
                             std::vector<std::string>& notes) {
  std::string why_not;
  if (config.max_batch_size.value_or(2) > 1) {
    const bool asked = config.max_batch_size.has_value();
    if (axis.kind == BatchAxis::Kind::kNone) {
      why_not = axis.reason;
      if (asked) {
        return absl::InvalidArgumentError(absl::StrCat(
            Where(config, "max_batch_size"), "found ", *config.max_batch_size,
            ", but the model cannot be batched: ", axis.reason,
            "; remove max_batch_size (the model is then served unbatched) or export the model "
            "with a free first dimension"));
      }
    } else if (axis.kind == BatchAxis::Kind::kAmbiguous && !asked) {
      why_not = absl::StrCat(axis.reason, "; if it is the batch in both, set max_batch_size");
    } else if (const RowCheck check = rows(); check.outcome == RowCheck::Outcome::kDependent) {
      if (asked) {
        notes.push_back(absl::StrCat("batched because max_batch_size says so, although ",
                                     check.detail, ": answers may depend on what else is served"));
      } else {
        why_not = absl::StrCat(check.detail,
                               "; if that is acceptable, set max_batch_size to batch anyway");
      }
    } else if (check.outcome == RowCheck::Outcome::kInconclusive && !asked) {
      notes.push_back(absl::StrCat("rows were taken as independent without a trial: ", check.detail,
                                   "; max_batch_size: 1 turns batching off"));
    }
  }
  if (!why_not.empty()) {
    notes.push_back(absl::StrCat("served unbatched: ", why_not));
    config.max_batch_size = 1;
  } else if (config.max_batch_size == 1) {
    notes.push_back("served unbatched: max_batch_size is 1");
  }
  if (config.max_batch_size.value_or(0) == 1) {
    const auto refuse = [&](const std::string& key) {
      return absl::InvalidArgumentError(
          absl::StrCat(Where(config, key), "has no effect on a model that is served unbatched (",
                       why_not.empty() ? "max_batch_size is 1" : why_not, "); remove it"));
    };
    if (!config.preferred_sizes.empty()) return refuse("batching.preferred_sizes");
    if (config.max_delay.has_value()) return refuse("batching.max_delay");
    return absl::OkStatus();
  }
  if (!config.max_batch_size.has_value()) {
    config.max_batch_size = kDefaultMaxBatchSize;
    for (int64_t size : config.preferred_sizes) {
      config.max_batch_size = std::max(*config.max_batch_size, size);
    }
  }
  return absl::OkStatus();
}

std::string DescribeBatching(const ModelConfig& config) {
  std::vector<std::string> instances;
  for (const InstanceGroupConfig& group : config.instances) {
    instances.push_back(absl::StrCat(group.count, " on ", group.device, " with ", group.threads,
                                     group.threads == 1 ? " thread each" : " threads each"));
  }
  const std::string where = absl::StrCat("instances: ", absl::StrJoin(instances, ", "));
  if (config.max_batch_size.value_or(1) <= 1) return absl::StrCat("batching: none; ", where);
  std::string plan =
      absl::StrCat("batching: up to ", *config.max_batch_size, " rows, closed when full");
  if (!config.preferred_sizes.empty()) {
    absl::StrAppend(&plan, " or at ", absl::StrJoin(config.preferred_sizes, ", "));
  }
  if (config.latency_budget.has_value()) {
    absl::StrAppend(&plan, ", when waiting would break the budget of ",
                    DurationText(*config.latency_budget));
  }
  if (config.max_delay.has_value()) {
    absl::StrAppend(&plan, ", after ", DurationText(*config.max_delay));
  }
  return absl::StrCat(plan, ", or when an instance is idle; ", where);
}

}  // namespace inferd::repository
