#include "engine/command_line/arguments.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "engine/command_line/nearest_name.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr FlagSpec kHelp = {"--help", "", "", "this text"};

absl::Status Unexpected(absl::string_view flag, absl::string_view expected,
                        absl::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": expected ", expected, ", found \"", found, "\""));
}

void AppendFlag(std::string& text, const FlagSpec& flag) {
  const std::string left = absl::StrCat(flag.name, flag.value.empty() ? "" : " ", flag.value);
  absl::StrAppendFormat(&text, "  %-28s %s", left, flag.help);
  if (!flag.default_value.empty()) absl::StrAppend(&text, " (default ", flag.default_value, ")");
  absl::StrAppend(&text, "\n");
}

absl::StatusOr<FlagSpec> FindFlag(const CommandSpec& spec, absl::string_view name) {
  std::vector<std::string> names = {std::string(kHelp.name)};
  for (const FlagSpec& flag : spec.flags) {
    if (flag.name == name) return flag;
    names.emplace_back(flag.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown flag ", name, DidYouMean(name, names)));
}

absl::Status CheckPositional(const CommandSpec& spec, absl::Span<const std::string> positional) {
  const int count = static_cast<int>(positional.size());
  if (count < spec.min_positional) {
    return absl::InvalidArgumentError(absl::StrCat("missing argument: ", spec.positional));
  }
  if (count > spec.max_positional) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument \"", positional[spec.max_positional], "\""));
  }
  return absl::OkStatus();
}

}  // namespace

std::string CommandSpec::Usage() const {
  std::string text = absl::StrCat("usage: ", program, " ", name, positional.empty() ? "" : " ",
                                  positional, " [flags]\n", summary, "\n\nflags:\n");
  for (const FlagSpec& flag : flags) AppendFlag(text, flag);
  AppendFlag(text, kHelp);
  return text;
}

absl::StatusOr<Arguments> Arguments::Parse(const CommandSpec& spec,
                                           absl::Span<const char* const> args) {
  Arguments parsed;
  for (const FlagSpec& flag : spec.flags) {
    if (!flag.default_value.empty()) {
      parsed.defaults_.emplace(std::string(flag.name), std::string(flag.default_value));
    }
  }
  bool flags_ended = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const absl::string_view arg = args[i];
    if (flags_ended || !absl::StartsWith(arg, "--")) {
      parsed.positional_.emplace_back(arg);
      continue;
    }
    if (arg == "--") {
      flags_ended = true;
      continue;
    }
    const size_t equals = arg.find('=');
    const absl::string_view name = arg.substr(0, equals);
    ASSIGN_OR_RETURN(const FlagSpec flag, FindFlag(spec, name));
    std::string value;
    if (flag.value.empty()) {
      if (equals != absl::string_view::npos) {
        return absl::InvalidArgumentError(absl::StrCat(name, " takes no value"));
      }
    } else if (equals != absl::string_view::npos) {
      value = std::string(arg.substr(equals + 1));
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat(name, " needs a value: ", flag.value));
    }
    parsed.values_[std::string(name)].push_back(std::move(value));
  }
  RETURN_IF_ERROR(CheckPositional(spec, parsed.positional_));
  return parsed;
}

std::string Arguments::Get(absl::string_view flag) const {
  if (const auto it = values_.find(flag); it != values_.end()) return it->second.back();
  const auto it = defaults_.find(flag);
  return it == defaults_.end() ? std::string() : it->second;
}

const std::vector<std::string>& Arguments::All(absl::string_view flag) const {
  static const std::vector<std::string>* const none = new std::vector<std::string>();
  const auto it = values_.find(flag);
  return it == values_.end() ? *none : it->second;
}

absl::StatusOr<int64_t> Arguments::GetInt(absl::string_view flag, int64_t min, int64_t max) const {
  const std::string text = Get(flag);
  int64_t value;
  if (!absl::SimpleAtoi(text, &value) || value < min || value > max) {
    return Unexpected(flag, absl::StrCat("a whole number from ", min, " to ", max), text);
  }
  return value;
}

absl::StatusOr<double> Arguments::GetDouble(absl::string_view flag, double min) const {
  const std::string text = Get(flag);
  double value;
  if (!absl::SimpleAtod(text, &value) || !(value >= min)) {
    return Unexpected(flag, absl::StrCat("a number of at least ", min), text);
  }
  return value;
}

absl::StatusOr<absl::Duration> Arguments::GetDuration(absl::string_view flag) const {
  const std::string text = Get(flag);
  absl::Duration value;
  if (!absl::ParseDuration(text, &value) || value < absl::ZeroDuration()) {
    return Unexpected(flag, "a duration such as 500ms or 10s", text);
  }
  return value;
}

absl::StatusOr<std::vector<int64_t>> Arguments::GetInts(absl::string_view flag, int64_t min) const {
  const std::string text = Get(flag);
  std::vector<int64_t> values;
  if (text.empty() && !has(flag)) return values;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    int64_t value;
    if (!absl::SimpleAtoi(part, &value) || value < min) {
      return Unexpected(
          flag, absl::StrCat("whole numbers of at least ", min, " with commas between"), text);
    }
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<std::vector<double>> Arguments::GetDoubles(absl::string_view flag,
                                                          double min) const {
  const std::string text = Get(flag);
  std::vector<double> values;
  if (text.empty() && !has(flag)) return values;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    double value;
    if (!absl::SimpleAtod(part, &value) || !(value >= min)) {
      return Unexpected(flag, absl::StrCat("numbers of at least ", min, " with commas between"),
                        text);
    }
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<std::map<std::string, std::string>> Arguments::GetMap(absl::string_view flag) const {
  std::map<std::string, std::string> map;
  for (const std::string& pair : All(flag)) {
    // Names of tensors may hold "=" in rare models; values never do.
    const size_t equals = pair.rfind('=');
    if (equals == std::string::npos || equals == 0) return Unexpected(flag, "NAME=VALUE", pair);
    map[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return map;
}

}  // namespace inferd::engine
