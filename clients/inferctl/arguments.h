// Command-line arguments of a subcommand: a table of flags drives parsing, errors and --help.
#pragma once

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace inferd::client {

struct FlagSpec {
  absl::string_view name;           // "--rate"
  absl::string_view value;          // "QPS"; empty for a switch
  absl::string_view default_value;  // shown in help; empty: unset
  absl::string_view help;
};

class Arguments {
 public:
  // Accepts "--flag value" and "--flag=value"; a flag may be repeated. INVALID_ARGUMENT for an
  // unknown flag (with the nearest known one) or a missing value.
  static absl::StatusOr<Arguments> Parse(absl::Span<const FlagSpec> flags,
                                         absl::Span<char* const> arguments);
  static std::string Help(absl::string_view usage, absl::Span<const FlagSpec> flags);

  bool has(absl::string_view flag) const { return values_.contains(flag); }
  // The last value given, or the default.
  std::string Get(absl::string_view flag) const;
  const std::vector<std::string>& All(absl::string_view flag) const;
  // INVALID_ARGUMENT naming the flag, what was found and what is allowed.
  absl::StatusOr<int64_t> GetInt(absl::string_view flag, int64_t min, int64_t max) const;
  absl::StatusOr<double> GetDouble(absl::string_view flag, double min) const;
  absl::StatusOr<absl::Duration> GetDuration(absl::string_view flag) const;

  const std::vector<std::string>& positional() const { return positional_; }

 private:
  absl::btree_map<std::string, std::vector<std::string>, std::less<>> values_;
  absl::btree_map<std::string, std::string, std::less<>> defaults_;
  std::vector<std::string> positional_;
};

}  // namespace inferd::client
