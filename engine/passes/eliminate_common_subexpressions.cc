// Of several nodes with the same operator, inputs and attributes only the first stays. Preserves
// every value bit by bit: only deterministic operators without subgraphs take part.
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/passes/all_passes.h"
#include "engine/passes/rewrite.h"

namespace inferd::engine {
namespace {

// Appends a text that is equal for equal values only; false for kinds that are not compared.
bool AppendAttribute(const AttributeValue& value, std::string* key) {
  auto list = [&](const auto& items, auto&& append) {
    absl::StrAppend(key, "[", items.size(), ":");
    for (const auto& item : items) append(item);
    key->push_back(']');
  };
  auto text = [&](const std::string& s) { absl::StrAppend(key, s.size(), ":", s, ","); };
  auto integer = [&](int64_t i) { absl::StrAppend(key, i, ","); };
  auto real = [&](float f) {
    key->append(reinterpret_cast<const char*>(&f), sizeof(f));
    key->push_back(',');
  };
  absl::StrAppend(key, value.index(), "=");
  if (const auto* i = std::get_if<int64_t>(&value)) return integer(*i), true;
  if (const auto* f = std::get_if<float>(&value)) return real(*f), true;
  if (const auto* s = std::get_if<std::string>(&value)) return text(*s), true;
  if (const auto* is = std::get_if<std::vector<int64_t>>(&value)) return list(*is, integer), true;
  if (const auto* fs = std::get_if<std::vector<float>>(&value)) return list(*fs, real), true;
  if (const auto* ss = std::get_if<std::vector<std::string>>(&value)) return list(*ss, text), true;
  return false;
}

std::optional<std::string> Key(const Node& node) {
  if (!node.op().is_deterministic) return std::nullopt;
  std::string key = node.op().qualified_name();
  for (const Value* input : node.inputs()) {
    absl::StrAppend(&key, "|", reinterpret_cast<uintptr_t>(input));
  }
  absl::StrAppend(&key, "->", node.num_outputs());
  for (const auto& [name, value] : node.attributes()) {
    absl::StrAppend(&key, "|", name);
    if (!AppendAttribute(value, &key)) return std::nullopt;
  }
  return key;
}

}  // namespace

absl::StatusOr<int> EliminateCommonSubexpressions(Graph& graph, const OpRegistry& registry) {
  Rewriter rewriter(graph, registry);
  absl::flat_hash_map<std::string, Node*> first;
  int applied = 0;
  for (Node* node : rewriter.Snapshot()) {
    const std::optional<std::string> key = Key(*node);
    if (!key.has_value()) continue;
    auto [it, fresh] = first.emplace(*key, node);
    if (fresh) continue;
    Node* kept = it->second;
    // Both must compute every output that is used.
    bool replaceable = true;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (node->output(i) == nullptr) continue;
      replaceable = replaceable && kept->output(i) != nullptr;
    }
    if (!replaceable) continue;
    bool all = true;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (node->output(i) == nullptr) continue;
      all = rewriter.Forward(node->output(i), kept->output(i)) && all;
    }
    if (!all) continue;
    kept->AddOrigins(*node);
    rewriter.RemoveIfUnused(node);
    ++applied;
  }
  return applied;
}

}  // namespace inferd::engine
