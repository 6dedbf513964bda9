// Command-line arguments of one subcommand.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace inferd::engine {

struct FlagSpec {
  std::string name;   // "--threads"
  std::string value;  // "N" for the usage text; empty for a switch
  std::string help;
};

// What a subcommand takes.
struct CommandSpec {
  std::string name;        // "bench"
  std::string positional;  // "MODEL" or "DIR..."; for the usage text
  int min_positional = 1;
  int max_positional = 1;
  std::string summary;
  std::vector<FlagSpec> flags;

  std::string Usage() const;
};

class Arguments {
 public:
  // Flags are "--name value" or "--name=value", in any order with positional arguments; "--" ends
  // flags. INVALID_ARGUMENT names an unknown flag, a missing value or a wrong number of
  // positional arguments.
  static absl::StatusOr<Arguments> Parse(const CommandSpec& spec,
                                         absl::Span<const char* const> args);

  const std::vector<std::string>& positional() const { return positional_; }
  bool has(const std::string& flag) const { return values_.count(flag) > 0; }
  // Every value a flag was given, in order.
  std::vector<std::string> all(const std::string& flag) const;
  // The last value, or the default.
  std::string get(const std::string& flag, absl::string_view default_value = "") const;
  absl::StatusOr<int64_t> get_int(const std::string& flag, int64_t default_value) const;
  absl::StatusOr<double> get_double(const std::string& flag, double default_value) const;
  // "1,8" as numbers, each at least `min`.
  absl::StatusOr<std::vector<int64_t>> get_ints(const std::string& flag,
                                                absl::string_view default_value, int64_t min) const;
  // "name=value" pairs of a repeatable flag.
  absl::StatusOr<std::map<std::string, std::string>> get_map(const std::string& flag) const;

 private:
  std::vector<std::string> positional_;
  std::map<std::string, std::vector<std::string>> values_;
};

}  // namespace inferd::engine
