// From what config.yaml says to what is done: defaults filled in, contradictions refused.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model_repository/batch_axis.h"
#include "model_repository/model_config.h"
#include "model_repository/row_check.h"

namespace inferd::repository {

// Rows one execution carries where config.yaml names no number and the model batches.
inline constexpr int64_t kDefaultMaxBatchSize = 32;

// The time of one inference alone on one thread; nullopt where it cannot be tried.
using TimeAlone = std::function<std::optional<absl::Duration>()>;

// Devices, providers and precision: fills in the instances and refuses what this build does not
// have (UNIMPLEMENTED, pointing at the key). `threads` is what the process may use. By default
// there are instances of one thread each, which together do the most work; where `alone` says
// that one thread is too slow for the latency budget, one instance has them all.
absl::Status ResolveInstances(ModelConfig& config, int threads, const TimeAlone& alone,
                              std::vector<std::string>& notes);

// Sets max_batch_size, and notes why where the model is served unbatched. INVALID_ARGUMENT where
// config.yaml asks for batches the model cannot take. `rows` is asked for only where the answer
// matters: it is expensive.
absl::Status ResolveBatching(ModelConfig& config, const BatchAxis& axis,
                             const std::function<RowCheck()>& rows,
                             std::vector<std::string>& notes);

// The batching plan in one sentence, for the log and the status page.
std::string DescribeBatching(const ModelConfig& config);

}  // namespace inferd::repository
