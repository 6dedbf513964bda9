// The form of a refusal.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace inferd::scheduler {

// RESOURCE_EXHAUSTED: "<what>, retry after N ms". N is at least 1.
absl::Status Refusal(const std::string& what, absl::Duration retry_after);

// The hint of a Refusal, for a header; nullopt for any other status. O(1).
std::optional<absl::Duration> RetryAfter(const absl::Status& status);

}  // namespace inferd::scheduler
