#include "model_repository/schema/key_table.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/command_line/nearest_name.h"
#include "engine/status_macros.h"
#include "model_repository/schema/quantity.h"

namespace inferd::repository {
namespace {

template <typename... Fns>
struct Overloaded : Fns... {
  using Fns::operator()...;
};
template <typename... Fns>
Overloaded(Fns...) -> Overloaded<Fns...>;

std::string Quoted(absl::string_view text) {
  if (text.empty()) return "nothing";
  if (text.size() > 60) return absl::StrCat("\"", text.substr(0, 60), "...\"");
  return absl::StrCat("\"", text, "\"");
}

std::string IntegerText(int64_t min, int64_t max) {
  const bool low = min != std::numeric_limits<int64_t>::min();
  const bool high = max != std::numeric_limits<int64_t>::max();
  if (low && high) return absl::StrCat("a whole number from ", min, " to ", max);
  if (low) return absl::StrCat("a whole number of at least ", min);
  if (high) return absl::StrCat("a whole number of at most ", max);
  return "a whole number";
}

absl::Status Refuse(const Key& key, absl::string_view found, absl::string_view advice = "") {
  return absl::InvalidArgumentError(
      absl::StrCat("found ", found, "; allowed: ", AllowedText(key), advice));
}

absl::StatusOr<int64_t> ParseInteger(const Key& key, absl::string_view text) {
  int64_t value = 0;
  if (text.empty() || text.find_first_not_of("+-0123456789") != absl::string_view::npos ||
      !absl::SimpleAtoi(text, &value) || value < key.min || value > key.max) {
    return Refuse(key, Quoted(text));
  }
  return value;
}

absl::StatusOr<absl::Duration> ParseBoundedDuration(const Key& key, absl::string_view text) {
  ASSIGN_OR_RETURN(absl::Duration value, ParseDuration(text));
  if (value < key.min_duration) return Refuse(key, Quoted(text));
  return value;
}

absl::StatusOr<std::string> ParseString(const Key& key, absl::string_view text) {
  if (!key.choices.empty() &&
      std::find(key.choices.begin(), key.choices.end(), text) == key.choices.end()) {
    return Refuse(key, Quoted(text), engine::DidYouMean(text, key.choices));
  }
  return std::string(text);
}

}  // namespace

void Diagnostics::Add(Position position, absl::string_view key, absl::string_view what) {
  std::string line = source_;
  if (position.line > 0) absl::StrAppend(&line, ":", position.line, ":", position.column);
  absl::StrAppend(&line, ": ", key, key.empty() ? "" : ": ", what);
  lines_.push_back(std::move(line));
}

absl::Status Diagnostics::status() const {
  if (lines_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
}

std::string AllowedText(const Key& key) {
  const auto duration = [&](const auto*) -> std::string {
    std::string text = "a duration with a unit, such as 20ms, 1.5s or 250us";
    if (key.min_duration > absl::ZeroDuration()) {
      absl::StrAppend(&text, ", of at least ", DurationText(key.min_duration));
    }
    return text;
  };
  const auto integer = [&](const auto*) { return IntegerText(key.min, key.max); };
  return std::visit(Overloaded{
                        [](const bool*) -> std::string { return "true or false"; },
                        [&](const int* p) { return integer(p); },
                        [&](const int64_t* p) { return integer(p); },
                        [&](const std::optional<int64_t>* p) { return integer(p); },
                        [&](const absl::Duration* p) { return duration(p); },
                        [&](const std::optional<absl::Duration>* p) { return duration(p); },
                        [&](const ByteSize&) {
                          std::string text = "a size such as 64MiB, 1GB or 4096 (bytes)";
                          if (key.min > 0)
                            absl::StrAppend(&text, ", of at least ", FormatBytes(key.min));
                          if (key.max != std::numeric_limits<int64_t>::max()) {
                            absl::StrAppend(&text, ", of at most ", FormatBytes(key.max));
                          }
                          return text;
                        },
                        [&](const std::string*) -> std::string {
                          if (key.choices.empty()) return "text";
                          return absl::StrCat(key.choices.size() > 1 ? "one of " : "",
                                              absl::StrJoin(key.choices, ", "));
                        },
                        [&](const std::vector<std::string>*) -> std::string {
                          if (key.choices.empty()) return "a list such as [a, b]";
                          return absl::StrCat("a list of ", absl::StrJoin(key.choices, ", "));
                        },
                        [&](const std::vector<int64_t>*) {
                          return absl::StrCat("a list such as [8, 16], each ",
                                              IntegerText(key.min, key.max));
                        },
                        [](const MappingList&) -> std::string { return "a list of mappings"; },
                        [](const CustomValue& custom) { return custom.allowed; },
                    },
                    key.field);
}

absl::Status SetFromText(const Key& key, absl::string_view text) {
  return std::visit(
      Overloaded{
          [&](bool* field) -> absl::Status {
            if (text != "true" && text != "false") return Refuse(key, Quoted(text));
            *field = text == "true";
            return absl::OkStatus();
          },
          [&](int* field) -> absl::Status {
            ASSIGN_OR_RETURN(int64_t value, ParseInteger(key, text));
            if (value != static_cast<int>(value)) return Refuse(key, Quoted(text));
            *field = static_cast<int>(value);
            return absl::OkStatus();
          },
          [&](int64_t* field) -> absl::Status {
            ASSIGN_OR_RETURN(*field, ParseInteger(key, text));
            return absl::OkStatus();
          },
          [&](std::optional<int64_t>* field) -> absl::Status {
            ASSIGN_OR_RETURN(*field, ParseInteger(key, text));
            return absl::OkStatus();
          },
          [&](const ByteSize& field) -> absl::Status {
            ASSIGN_OR_RETURN(int64_t bytes, ParseBytes(text));
            if (bytes < key.min || bytes > key.max) return Refuse(key, Quoted(text));
            *field.bytes = bytes;
            return absl::OkStatus();
          },
          [&](absl::Duration* field) -> absl::Status {
            ASSIGN_OR_RETURN(*field, ParseBoundedDuration(key, text));
            return absl::OkStatus();
          },
          [&](std::optional<absl::Duration>* field) -> absl::Status {
            ASSIGN_OR_RETURN(*field, ParseBoundedDuration(key, text));
            return absl::OkStatus();
          },
          [&](std::string* field) -> absl::Status {
            ASSIGN_OR_RETURN(*field, ParseString(key, text));
            return absl::OkStatus();
          },
          [&](std::vector<std::string>* field) -> absl::Status {
            ASSIGN_OR_RETURN(std::string value, ParseString(key, text));
            field->push_back(std::move(value));
            return absl::OkStatus();
          },
          [&](std::vector<int64_t>* field) -> absl::Status {
            ASSIGN_OR_RETURN(int64_t value, ParseInteger(key, text));
            field->push_back(value);
            return absl::OkStatus();
          },
          [&](const MappingList&) -> absl::Status { return Refuse(key, Quoted(text)); },
          [&](const CustomValue& custom) -> absl::Status {
            YamlNode node;
            node.kind = YamlNode::Kind::kScalar;
            node.scalar = std::string(text);
            return custom.parse(node);
          },
      },
      key.field);
}

}  // namespace inferd::repository
