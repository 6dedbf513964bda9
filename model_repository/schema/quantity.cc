#include "model_repository/schema/quantity.h"

#include <array>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace inferd::repository {
namespace {

constexpr absl::string_view kDurationForm =
    "a duration with a unit (ns, us, ms, s, m or h), such as 20ms, 1.5s or 250us";
constexpr absl::string_view kBytesForm =
    "a size such as 64MiB, 1GB or 4096 (units B, KB, MB, GB, TB, KiB, MiB, GiB, TiB)";

constexpr std::array<std::pair<absl::string_view, int64_t>, 9> kByteUnits = {{
    {"TiB", int64_t{1} << 40},
    {"GiB", int64_t{1} << 30},
    {"MiB", int64_t{1} << 20},
    {"KiB", int64_t{1} << 10},
    {"TB", 1'000'000'000'000},
    {"GB", 1'000'000'000},
    {"MB", 1'000'000},
    {"KB", 1'000},
    {"B", 1},
}};

// How a found text is quoted in messages: whole when short.
std::string Found(absl::string_view text) {
  constexpr size_t kLongest = 60;
  if (text.empty()) return "found nothing";
  if (text.size() > kLongest) return absl::StrCat("found \"", text.substr(0, kLongest), "...\"");
  return absl::StrCat("found \"", text, "\"");
}

bool IsDigits(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

}  // namespace

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  double number = 0;
  if (absl::SimpleAtod(text, &number) && std::isfinite(number)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Found(text), ", a number without a unit; allowed: ", kDurationForm, "; write ",
                     text, "ms if milliseconds were meant"));
  }
  absl::Duration duration;
  if (!absl::ParseDuration(std::string(text), &duration)) {
    return absl::InvalidArgumentError(absl::StrCat(Found(text), "; allowed: ", kDurationForm));
  }
  if (duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Found(text), "; allowed: ", kDurationForm, ", finite and not negative"));
  }
  return duration;
}

std::string DurationText(absl::Duration duration) { return absl::FormatDuration(duration); }

absl::StatusOr<int64_t> ParseBytes(absl::string_view text) {
  int64_t scale = 1;
  absl::string_view digits = text;
  for (const auto& [unit, value] : kByteUnits) {
    if (absl::ConsumeSuffix(&digits, unit)) {
      scale = value;
      break;
    }
  }
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  if (IsDigits(digits)) {  // exact, where a double would round
    int64_t whole = 0;
    if (absl::SimpleAtoi(digits, &whole) && whole <= INT64_MAX / scale) return whole * scale;
    return absl::InvalidArgumentError(
        absl::StrCat(Found(text), ", which is too large; allowed: ", kBytesForm, " below 8 EiB"));
  }
  double number = 0;
  if (digits.empty() || digits.find_first_not_of("0123456789.") != absl::string_view::npos ||
      !absl::SimpleAtod(digits, &number)) {
    return absl::InvalidArgumentError(absl::StrCat(Found(text), "; allowed: ", kBytesForm));
  }
  const double bytes = number * static_cast<double>(scale);
  if (bytes >= 9.2e18) {
    return absl::InvalidArgumentError(
        absl::StrCat(Found(text), ", which is too large; allowed: ", kBytesForm, " below 8 EiB"));
  }
  return static_cast<int64_t>(std::llround(bytes));
}

std::string FormatBytes(int64_t bytes) {
  if (bytes != 0) {
    for (const auto& [unit, value] : kByteUnits) {
      if (value > 1 && bytes % value == 0) return absl::StrCat(bytes / value, unit);
    }
  }
  return absl::StrCat(bytes);
}

}  // namespace inferd::repository
