#include "engine/inferplan/arguments.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/status_macros.h"

namespace inferd::engine {

std::string CommandSpec::Usage() const {
  std::string text = absl::StrCat("usage: inferplan ", name, " ", positional, " [flags]\n", summary,
                                  "\n\nflags:\n");
  for (const FlagSpec& flag : flags) {
    const std::string left =
        flag.value.empty() ? flag.name : absl::StrCat(flag.name, " ", flag.value);
    absl::StrAppendFormat(&text, "  %-26s %s\n", left, flag.help);
  }
  absl::StrAppendFormat(&text, "  %-26s %s\n", "--help", "this text");
  return text;
}

absl::StatusOr<Arguments> Arguments::Parse(const CommandSpec& spec,
                                           absl::Span<const char* const> args) {
  Arguments parsed;
  bool flags_ended = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string arg = args[i];
    if (flags_ended || arg.rfind("--", 0) != 0) {
      parsed.positional_.push_back(arg);
      continue;
    }
    if (arg == "--") {
      flags_ended = true;
      continue;
    }
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    const auto flag = std::find_if(spec.flags.begin(), spec.flags.end(),
                                   [&](const FlagSpec& f) { return f.name == name; });
    if (flag == spec.flags.end()) {
      return absl::InvalidArgumentError(absl::StrCat("unknown flag ", name));
    }
    std::string value;
    if (flag->value.empty()) {
      if (equals != std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat(name, " takes no value"));
      }
    } else if (equals != std::string::npos) {
      value = arg.substr(equals + 1);
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat(name, " needs a value: ", flag->value));
    }
    parsed.values_[name].push_back(std::move(value));
  }
  const int count = static_cast<int>(parsed.positional_.size());
  if (count < spec.min_positional) {
    return absl::InvalidArgumentError(absl::StrCat("missing argument: ", spec.positional));
  }
  if (count > spec.max_positional) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument \"", parsed.positional_[spec.max_positional], "\""));
  }
  return parsed;
}

std::vector<std::string> Arguments::all(const std::string& flag) const {
  const auto it = values_.find(flag);
  return it == values_.end() ? std::vector<std::string>() : it->second;
}

std::string Arguments::get(const std::string& flag, absl::string_view default_value) const {
  const auto it = values_.find(flag);
  return it == values_.end() ? std::string(default_value) : it->second.back();
}

absl::StatusOr<int64_t> Arguments::get_int(const std::string& flag, int64_t default_value) const {
  if (!has(flag)) return default_value;
  int64_t value;
  if (!absl::SimpleAtoi(get(flag), &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": expected a whole number, found \"", get(flag), "\""));
  }
  return value;
}

absl::StatusOr<double> Arguments::get_double(const std::string& flag, double default_value) const {
  if (!has(flag)) return default_value;
  double value;
  if (!absl::SimpleAtod(get(flag), &value) || !(value >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": expected a number of at least 0, found \"", get(flag), "\""));
  }
  return value;
}

absl::StatusOr<std::vector<int64_t>> Arguments::get_ints(const std::string& flag,
                                                         absl::string_view default_value,
                                                         int64_t min) const {
  std::vector<int64_t> values;
  for (absl::string_view part : absl::StrSplit(get(flag, default_value), ',')) {
    int64_t value;
    if (!absl::SimpleAtoi(part, &value) || value < min) {
      return absl::InvalidArgumentError(absl::StrCat(flag, ": expected numbers of at least ", min,
                                                     " with commas between, found \"",
                                                     get(flag, default_value), "\""));
    }
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<std::map<std::string, std::string>> Arguments::get_map(
    const std::string& flag) const {
  std::map<std::string, std::string> map;
  for (const std::string& pair : all(flag)) {
    // Names of tensors may hold "=" in rare models; values never do.
    const size_t equals = pair.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": expected NAME=VALUE, found \"", pair, "\""));
    }
    map[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return map;
}

}  // namespace inferd::engine
