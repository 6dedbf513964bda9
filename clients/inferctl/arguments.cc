#include "clients/inferctl/arguments.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace inferd::client {
namespace {

// Levenshtein distance, to suggest the flag that was probably meant.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

absl::StatusOr<Arguments> Arguments::Parse(absl::Span<const FlagSpec> flags,
                                           absl::Span<char* const> arguments) {
  Arguments result;
  for (const FlagSpec& f : flags) {
    if (!f.default_value.empty()) {
      result.defaults_.emplace(std::string(f.name), std::string(f.default_value));
    }
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const absl::string_view argument = arguments[i];
    if (argument.size() < 3 || argument.substr(0, 2) != "--") {
      result.positional_.emplace_back(argument);
      continue;
    }
    const size_t equals = argument.find('=');
    const absl::string_view name = argument.substr(0, equals);
    const FlagSpec* spec = nullptr;
    const FlagSpec* nearest = nullptr;
    for (const FlagSpec& f : flags) {
      if (f.name == name) spec = &f;
      if (nearest == nullptr || EditDistance(f.name, name) < EditDistance(nearest->name, name)) {
        nearest = &f;
      }
    }
    if (spec == nullptr) {
      std::string hint;
      if (nearest != nullptr && EditDistance(nearest->name, name) <= 3) {
        hint = absl::StrCat("; did you mean ", nearest->name, "?");
      }
      return absl::InvalidArgumentError(absl::StrCat("unknown flag ", name, hint));
    }
    std::string value;
    if (spec->value.empty()) {
      if (equals != absl::string_view::npos) {
        return absl::InvalidArgumentError(absl::StrCat(name, " takes no value"));
      }
    } else if (equals != absl::string_view::npos) {
      value = std::string(argument.substr(equals + 1));
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat(name, " needs a value: ", spec->value));
    }
    result.values_[std::string(name)].push_back(std::move(value));
  }
  return result;
}

std::string Arguments::Help(absl::string_view usage, absl::Span<const FlagSpec> flags) {
  std::string text = absl::StrCat("usage: ", usage, "\n\n");
  for (const FlagSpec& f : flags) {
    const std::string left = absl::StrCat(f.name, f.value.empty() ? "" : " ", f.value);
    absl::StrAppendFormat(&text, "  %-28s %s", left, f.help);
    if (!f.default_value.empty()) absl::StrAppend(&text, " (default ", f.default_value, ")");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::string Arguments::Get(absl::string_view flag) const {
  if (auto it = values_.find(flag); it != values_.end()) return it->second.back();
  auto it = defaults_.find(flag);
  return it == defaults_.end() ? std::string() : it->second;
}

const std::vector<std::string>& Arguments::All(absl::string_view flag) const {
  static const std::vector<std::string>* const none = new std::vector<std::string>();
  auto it = values_.find(flag);
  return it == values_.end() ? *none : it->second;
}

absl::StatusOr<int64_t> Arguments::GetInt(absl::string_view flag, int64_t min, int64_t max) const {
  const std::string text = Get(flag);
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < min || value > max) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": expected a whole number from ", min,
                                                   " to ", max, ", found '", text, "'"));
  }
  return value;
}

absl::StatusOr<double> Arguments::GetDouble(absl::string_view flag, double min) const {
  const std::string text = Get(flag);
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= min)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": expected a number of at least ", min, ", found '", text, "'"));
  }
  return value;
}

absl::StatusOr<absl::Duration> Arguments::GetDuration(absl::string_view flag) const {
  const std::string text = Get(flag);
  absl::Duration value;
  if (!absl::ParseDuration(text, &value) || value < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": expected a duration such as 500ms or 10s, found '", text, "'"));
  }
  return value;
}

}  // namespace inferd::client
