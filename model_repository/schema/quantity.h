// Text forms of durations and sizes as configuration writes them.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace inferd::repository {

// "20ms", "1.5s", "250us", "1m30s". Units: ns, us, ms, s, m, h. Not negative, finite.
// INVALID_ARGUMENT says what is allowed and, for a number without a unit, how to write it.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);
std::string DurationText(absl::Duration duration);

// Bytes: "64MiB", "1.5GB", "4096". Units: B, KB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB,
// TiB (powers of 1024); a plain number is bytes. The result is a whole number that fits int64.
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);
// The shortest exact form ParseBytes reads back.
std::string FormatBytes(int64_t bytes);

}  // namespace inferd::repository
