#include "scheduler/admission.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace inferd::scheduler {
namespace {

constexpr char kRetryAfterPayload[] = "inferd.scheduler.retry_after_ms";
constexpr int64_t kMaxRetryMillis = 60'000;

}  // namespace

absl::Status Refusal(const std::string& what, absl::Duration retry_after) {
  const int64_t millis =
      std::clamp<int64_t>(absl::ToInt64Milliseconds(absl::Ceil(retry_after, absl::Milliseconds(1))),
                          1, kMaxRetryMillis);
  absl::Status status =
      absl::ResourceExhaustedError(absl::StrCat(what, ", retry after ", millis, " ms"));
  status.SetPayload(kRetryAfterPayload, absl::Cord(absl::StrCat(millis)));
  return status;
}

std::optional<absl::Duration> RetryAfter(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryAfterPayload);
  int64_t millis = 0;
  if (!payload.has_value() || !absl::SimpleAtoi(std::string(*payload), &millis)) {
    return std::nullopt;
  }
  return absl::Milliseconds(millis);
}

}  // namespace inferd::scheduler
