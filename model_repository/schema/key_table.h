// Declarative key tables: one list of keys, each bound to a field, drives parsing (YAML and
// command line), messages, suggestions, formatting and documentation.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "model_repository/schema/yaml_tree.h"

namespace inferd::repository {

struct Key;
// Dotted names are nested mappings: "queue.timeout" is key `timeout` of mapping `queue`. The keys
// of one mapping stand together. The table points into the object it was made for.
using KeyTable = std::vector<Key>;

// A field of bytes, as opposed to a plain integer.
struct ByteSize {
  int64_t* bytes;
};

// A list of mappings.
struct MappingList {
  std::function<size_t()> size;
  // The keys of item i.
  std::function<KeyTable(size_t i)> at;
  // Appends an item of defaults.
  std::function<void()> append;
  std::function<void()> clear;
};

class Diagnostics;
// A value with a form of its own.
struct CustomValue {
  std::string allowed;  // "latest, {latest: N}, all or a list such as [1, 3]"
  // INVALID_ARGUMENT("found ...") for a value of another form.
  std::function<absl::Status(const YamlNode&)> parse;
  std::function<std::string()> format;  // one line of YAML
};

using Field =
    std::variant<bool*, int*, int64_t*, std::optional<int64_t>*, ByteSize, absl::Duration*,
                 std::optional<absl::Duration>*, std::string*, std::vector<std::string>*,
                 std::vector<int64_t>*, MappingList, CustomValue>;

struct Key {
  std::string name;
  Field field;
  std::string doc;  // one sentence without the final stop
  // What an unset or empty value means, for documentation: "chosen by the daemon".
  std::string when_unset = {};
  // Bounds of integers, sizes and elements of integer lists.
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
  absl::Duration min_duration = absl::ZeroDuration();
  // Allowed strings; empty: any.
  std::vector<std::string> choices = {};
};

// Mistakes of one source, in the order they were found.
class Diagnostics {
 public:
  explicit Diagnostics(std::string source) : source_(std::move(source)) {}
  // `key` may be empty.
  void Add(Position position, absl::string_view key, absl::string_view what);
  bool empty() const { return lines_.empty(); }
  // INVALID_ARGUMENT with every mistake on a line of its own; OK when there are none.
  absl::Status status() const;
  const std::string& source() const { return source_; }

 private:
  std::string source_;
  std::vector<std::string> lines_;
};

// Where each key that was given stands, by its full name; "FILE:LINE:COLUMN".
using KeyPositions = std::map<std::string, Position>;

// Reads `root` (a mapping, or nothing) into the fields of `table`. Keys left out keep their value.
void ReadYaml(const YamlNode& root, const KeyTable& table, Diagnostics& diagnostics,
              KeyPositions* positions = nullptr);

// Sets a field from one word; a list grows by it. INVALID_ARGUMENT("found ...; allowed: ...").
absl::Status SetFromText(const Key& key, absl::string_view text);

// YAML of every key that has a value. `only` keys whose text differs from `defaults` when given.
std::string WriteYaml(const KeyTable& table, const KeyTable* defaults = nullptr);

// "a whole number from 1 to 64", "one of text, json".
std::string AllowedText(const Key& key);
// The value as one would write it; empty where there is none.
std::string ValueText(const Key& key);
// One paragraph per key: name, allowed values, default, meaning.
std::string DescribeKeys(const KeyTable& table);

}  // namespace inferd::repository
