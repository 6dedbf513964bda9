#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/command_line/nearest_name.h"
#include "model_repository/schema/key_table.h"

namespace inferd::repository {
namespace {

class Reader {
 public:
  Reader(Diagnostics& diagnostics, KeyPositions* positions)
      : diagnostics_(diagnostics), positions_(positions) {}

  // `prefix` is the part of the table this mapping stands for ("queue."), `path` how messages
  // call it ("instances[1].").
  void ReadMapping(const YamlNode& node, const KeyTable& table, const std::string& prefix,
                   const std::string& path) {
    std::map<std::string, Position> seen;
    for (const auto& [name_node, value] : node.entries) {
      const std::string& name = name_node.scalar;
      const auto [first, is_new] = seen.emplace(name, name_node.position);
      if (!is_new) {
        diagnostics_.Add(
            name_node.position, path + name,
            absl::StrCat("found twice, first in line ", first->second.line, "; allowed: once"));
        continue;
      }
      if (positions_ != nullptr) positions_->emplace(path + name, value.position);
      if (const Key* key = FindKey(table, prefix + name); key != nullptr) {
        ReadValue(value, *key, path + name);
      } else if (IsSection(table, prefix + name + ".")) {
        ReadSection(value, table, prefix + name + ".", path + name);
      } else {
        diagnostics_.Add(name_node.position, path + name, UnknownKey(table, prefix, name));
      }
    }
  }

 private:
  static const Key* FindKey(const KeyTable& table, absl::string_view full) {
    for (const Key& key : table) {
      if (key.name == full) return &key;
    }
    return nullptr;
  }
  static bool IsSection(const KeyTable& table, absl::string_view prefix) {
    for (const Key& key : table) {
      if (absl::StartsWith(key.name, prefix)) return true;
    }
    return false;
  }
  // Names one may write in the mapping `prefix`, in table order.
  static std::vector<std::string> NamesIn(const KeyTable& table, const std::string& prefix) {
    std::vector<std::string> names;
    for (const Key& key : table) {
      if (!absl::StartsWith(key.name, prefix)) continue;
      const std::string rest = key.name.substr(prefix.size());
      const std::string name = rest.substr(0, rest.find('.'));
      if (names.empty() || names.back() != name) names.push_back(name);
    }
    return names;
  }
  static std::string UnknownKey(const KeyTable& table, const std::string& prefix,
                                const std::string& name) {
    const std::vector<std::string> here = NamesIn(table, prefix);
    std::string nearest = engine::NearestName(name, here);
    if (nearest.empty()) {  // perhaps right, but in the wrong mapping
      std::vector<std::string> everywhere;
      for (const Key& key : table) {
        const std::string last = key.name.substr(key.name.rfind('.') + 1);
        if (last == name) nearest = key.name;
        everywhere.push_back(key.name);
      }
      if (nearest.empty()) nearest = engine::NearestName(name, everywhere);
    }
    return absl::StrCat("unknown key; allowed here: ", absl::StrJoin(here, ", "),
                        nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?"));
  }

  void ReadSection(const YamlNode& node, const KeyTable& table, const std::string& prefix,
                   const std::string& path) {
    if (node.kind == YamlNode::Kind::kNull) return;  // every key of it is commented out
    if (node.kind != YamlNode::Kind::kMap) {
      diagnostics_.Add(node.position, path,
                       absl::StrCat("found ", node.Describe(), "; allowed: a mapping with keys ",
                                    absl::StrJoin(NamesIn(table, prefix), ", ")));
      return;
    }
    ReadMapping(node, table, prefix, path + ".");
  }

  void ReadValue(const YamlNode& node, const Key& key, const std::string& path) {
    if (const auto* custom = std::get_if<CustomValue>(&key.field)) {
      Report(node, path, custom->parse(node));
    } else if (const auto* list = std::get_if<MappingList>(&key.field)) {
      ReadMappings(node, key, *list, path);
    } else if (std::holds_alternative<std::vector<std::string>*>(key.field) ||
               std::holds_alternative<std::vector<int64_t>*>(key.field)) {
      ReadList(node, key, path);
    } else if (node.kind == YamlNode::Kind::kScalar) {
      Report(node, path, SetFromText(key, node.scalar));
    } else {
      Expected(node, key, path);
    }
  }

  void ReadList(const YamlNode& node, const Key& key, const std::string& path) {
    if (node.kind != YamlNode::Kind::kList) return Expected(node, key, path);
    if (auto* const* strings = std::get_if<std::vector<std::string>*>(&key.field)) {
      (*strings)->clear();
    } else if (auto* const* numbers = std::get_if<std::vector<int64_t>*>(&key.field)) {
      (*numbers)->clear();
    }
    for (size_t i = 0; i < node.items.size(); ++i) {
      const YamlNode& item = node.items[i];
      const std::string name = absl::StrCat(path, "[", i, "]");
      if (item.kind == YamlNode::Kind::kScalar) {
        Report(item, name, SetFromText(key, item.scalar));
      } else {
        Expected(item, key, name);
      }
    }
  }

  void ReadMappings(const YamlNode& node, const Key& key, const MappingList& list,
                    const std::string& path) {
    if (node.kind != YamlNode::Kind::kList) return Expected(node, key, path);
    list.clear();
    for (size_t i = 0; i < node.items.size(); ++i) {
      const YamlNode& item = node.items[i];
      const std::string name = absl::StrCat(path, "[", i, "]");
      list.append();
      const KeyTable table = list.at(i);
      if (item.kind == YamlNode::Kind::kMap) {
        if (positions_ != nullptr) positions_->emplace(name, item.position);
        ReadMapping(item, table, "", name + ".");
      } else {
        diagnostics_.Add(item.position, name,
                         absl::StrCat("found ", item.Describe(), "; allowed: a mapping with keys ",
                                      absl::StrJoin(NamesIn(table, ""), ", ")));
      }
    }
  }

  void Expected(const YamlNode& node, const Key& key, const std::string& path) {
    diagnostics_.Add(node.position, path,
                     absl::StrCat("found ", node.Describe(), "; allowed: ", AllowedText(key)));
  }
  void Report(const YamlNode& node, const std::string& path, const absl::Status& status) {
    if (!status.ok()) diagnostics_.Add(node.position, path, status.message());
  }

  Diagnostics& diagnostics_;
  KeyPositions* positions_;
};

}  // namespace

void ReadYaml(const YamlNode& root, const KeyTable& table, Diagnostics& diagnostics,
              KeyPositions* positions) {
  if (root.kind == YamlNode::Kind::kNull) return;
  if (root.kind != YamlNode::Kind::kMap) {
    diagnostics.Add(root.position, "",
                    absl::StrCat("found ", root.Describe(), "; allowed: a mapping of keys"));
    return;
  }
  Reader(diagnostics, positions).ReadMapping(root, table, "", "");
}

}  // namespace inferd::repository
