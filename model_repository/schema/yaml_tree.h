// YAML text as a tree of nodes that know where they stand. A thin, bounded reading of yaml-cpp's
// event stream: its exceptions end here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace inferd::repository {

// 1-based; 0 where there is none (a command-line flag).
struct Position {
  int line = 0;
  int column = 0;
};

struct YamlEntry;

struct YamlNode {
  enum class Kind : uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  Position position;
  std::string scalar;
  std::vector<YamlNode> items;     // kList
  std::vector<YamlEntry> entries;  // kMap, in order, duplicates kept

  // "8", "a list", "a mapping", "nothing": what messages call it.
  std::string Describe() const;
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

struct YamlLimits {
  size_t max_bytes = 1 << 20;
  int max_depth = 32;
  int max_nodes = 20'000;
};

// One document; empty text is kNull. Anchors, aliases and further documents are refused, so that
// the tree is never larger than the text. INVALID_ARGUMENT as "FILE:LINE:COLUMN: what is wrong".
absl::StatusOr<YamlNode> ParseYaml(absl::string_view text, absl::string_view file,
                                   const YamlLimits& limits = {});

}  // namespace inferd::repository
