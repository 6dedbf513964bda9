#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model_repository/schema/key_table.h"
#include "model_repository/schema/quantity.h"

namespace inferd::repository {
namespace {

bool IsPlainWord(absl::string_view text) {
  if (text.empty() || text == "null" || text == "Null" || text == "NULL") return false;
  if (!absl::ascii_isalnum(text.front()) && text.front() != '/') return false;
  for (char c : text) {
    if (!absl::ascii_isalnum(c) && absl::string_view("_-./").find(c) == absl::string_view::npos) {
      return false;
    }
  }
  return true;
}

// A YAML double-quoted scalar (https://yaml.org/spec/1.2.2/#731-double-quoted-style), unless the
// word can stand as it is.
std::string YamlString(absl::string_view text) {
  if (IsPlainWord(text)) return std::string(text);
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&result, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string FlowMapping(const KeyTable& table) {
  std::vector<std::string> parts;
  for (const Key& key : table) {
    if (std::string value = ValueText(key); !value.empty()) {
      parts.push_back(absl::StrCat(key.name, ": ", value));
    }
  }
  return absl::StrCat("{", absl::StrJoin(parts, ", "), "}");
}

struct Writer {
  std::string operator()(const bool* field) const { return *field ? "true" : "false"; }
  std::string operator()(const int* field) const { return absl::StrCat(*field); }
  std::string operator()(const int64_t* field) const { return absl::StrCat(*field); }
  std::string operator()(const std::optional<int64_t>* field) const {
    return field->has_value() ? absl::StrCat(**field) : "";
  }
  std::string operator()(const ByteSize& field) const { return FormatBytes(*field.bytes); }
  std::string operator()(const absl::Duration* field) const { return DurationText(*field); }
  std::string operator()(const std::optional<absl::Duration>* field) const {
    return field->has_value() ? DurationText(**field) : "";
  }
  std::string operator()(const std::string* field) const {
    return field->empty() ? "" : YamlString(*field);
  }
  std::string operator()(const std::vector<std::string>* field) const {
    if (field->empty()) return "";
    return absl::StrCat("[",
                        absl::StrJoin(*field, ", ",
                                      [](std::string* out, const std::string& s) {
                                        absl::StrAppend(out, YamlString(s));
                                      }),
                        "]");
  }
  std::string operator()(const std::vector<int64_t>* field) const {
    return field->empty() ? "" : absl::StrCat("[", absl::StrJoin(*field, ", "), "]");
  }
  std::string operator()(const MappingList& list) const {
    std::vector<std::string> items;
    for (size_t i = 0; i < list.size(); ++i) items.push_back(FlowMapping(list.at(i)));
    return items.empty() ? "" : absl::StrCat("[", absl::StrJoin(items, ", "), "]");
  }
  std::string operator()(const CustomValue& custom) const { return custom.format(); }
};

}  // namespace

std::string ValueText(const Key& key) { return std::visit(Writer{}, key.field); }

std::string WriteYaml(const KeyTable& table, const KeyTable* defaults) {
  std::string out;
  std::string section;
  for (size_t i = 0; i < table.size(); ++i) {
    const Key& key = table[i];
    const std::string value = ValueText(key);
    if (value.empty()) continue;
    if (defaults != nullptr && value == ValueText((*defaults)[i])) continue;
    const size_t dot = key.name.find('.');
    const std::string prefix = dot == std::string::npos ? "" : key.name.substr(0, dot);
    if (prefix != section && !prefix.empty()) absl::StrAppend(&out, prefix, ":\n");
    section = prefix;
    if (prefix.empty()) {
      absl::StrAppend(&out, key.name, ": ", value, "\n");
    } else {
      absl::StrAppend(&out, "  ", key.name.substr(dot + 1), ": ", value, "\n");
    }
  }
  return out;
}

std::string DescribeKeys(const KeyTable& table) {
  std::string out;
  for (const Key& key : table) {
    const std::string value = ValueText(key);
    absl::StrAppend(&out, key.name, ": ", AllowedText(key), "\n    ", key.doc, ". Default: ",
                    !value.empty()            ? value
                    : !key.when_unset.empty() ? key.when_unset
                                              : "none",
                    ".\n");
    if (const auto* list = std::get_if<MappingList>(&key.field)) {
      // The keys of an item, shown on one that is appended for the purpose and taken back.
      if (list->size() == 0) {
        list->append();
        for (const Key& inner : list->at(0)) {
          const std::string inner_value = ValueText(inner);
          absl::StrAppend(&out, "    ", inner.name, ": ", AllowedText(inner), ". ", inner.doc,
                          ". Default: ", inner_value.empty() ? inner.when_unset : inner_value,
                          ".\n");
        }
        list->clear();
      }
    }
  }
  return out;
}

}  // namespace inferd::repository
