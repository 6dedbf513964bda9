// Arguments of a command: a table of flags drives parsing, errors and --help.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace inferd::engine {

// Views of string literals.
struct FlagSpec {
  absl::string_view name;           // "--threads"
  absl::string_view value;          // "N" for the usage text; empty for a switch
  absl::string_view default_value;  // shown in the usage text; empty: unset
  absl::string_view help;
};

// What a command takes. ParseCommand (command.h) gives every command --help besides.
struct CommandSpec {
  absl::string_view program;     // "inferplan"
  absl::string_view name;        // "bench"
  absl::string_view positional;  // "MODEL" or "DIR..."; for the usage text
  int min_positional = 1;
  int max_positional = 1;
  absl::string_view summary;
  std::vector<FlagSpec> flags;

  std::string Usage() const;
};

// Getters return INVALID_ARGUMENT naming the flag, what was found and what is allowed.
class Arguments {
 public:
  // Flags are "--name value" or "--name=value", in any order with positional arguments, and may
  // be repeated; "--" ends flags. INVALID_ARGUMENT names an unknown flag (with the nearest known
  // one), a missing value or a wrong number of positional arguments.
  static absl::StatusOr<Arguments> Parse(const CommandSpec& spec,
                                         absl::Span<const char* const> args);

  const std::vector<std::string>& positional() const { return positional_; }
  // Whether the flag was given; a default does not count.
  bool has(absl::string_view flag) const { return values_.find(flag) != values_.end(); }
  // The last value given, or the default.
  std::string Get(absl::string_view flag) const;
  // Every value given, in order.
  const std::vector<std::string>& All(absl::string_view flag) const;
  absl::StatusOr<int64_t> GetInt(absl::string_view flag, int64_t min, int64_t max) const;
  absl::StatusOr<double> GetDouble(absl::string_view flag, double min) const;
  // Not negative.
  absl::StatusOr<absl::Duration> GetDuration(absl::string_view flag) const;
  // "1,8": numbers with commas between. None where the flag has no value.
  absl::StatusOr<std::vector<int64_t>> GetInts(absl::string_view flag, int64_t min) const;
  absl::StatusOr<std::vector<double>> GetDoubles(absl::string_view flag, double min) const;
  // "NAME=VALUE" of a repeatable flag.
  absl::StatusOr<std::map<std::string, std::string>> GetMap(absl::string_view flag) const;

 private:
  std::vector<std::string> positional_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
  std::map<std::string, std::string, std::less<>> defaults_;
};

}  // namespace inferd::engine
