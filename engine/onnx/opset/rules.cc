#include "engine/onnx/opset/rules.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace inferd::engine {
namespace {

using Key = std::pair<std::string, std::string>;
using Table = absl::flat_hash_map<Key, std::vector<OpsetRule>>;

Table BuildTable() {
  Table table;
  for (absl::Span<const OpsetRule> family :
       {BroadcastRules(), ElementwiseRules(), NormalizationRules(), SoftmaxRules(), AxesRules(),
        MovementRules(), ResizeRules(), PoolRules(), SelectionRules(), CastRules(),
        RecurrentRules(), ControlFlowRules(), RetiredRules(), MlRules(), MicrosoftRules(),
        MicrosoftFusedRules()}) {
    for (const OpsetRule& rule : family) {
      table[Key(std::string(rule.domain), std::string(rule.op))].push_back(rule);
    }
  }
  for (auto& [key, rules] : table) {
    std::sort(rules.begin(), rules.end(),
              [](const OpsetRule& a, const OpsetRule& b) { return a.since < b.since; });
  }
  return table;
}

const Table& RuleTable() {
  static const Table* const kTable = new Table(BuildTable());
  return *kTable;
}

}  // namespace

std::vector<std::vector<OpsetRule>> RulesByOperator() {
  std::vector<std::vector<OpsetRule>> all;
  for (const auto& [key, rules] : RuleTable()) all.push_back(rules);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a[0].domain, a[0].op) < std::pair(b[0].domain, b[0].op);
  });
  return all;
}

const OpsetRule* FindRule(absl::string_view domain, absl::string_view op, int64_t opset) {
  auto it = RuleTable().find(Key(std::string(domain), std::string(op)));
  if (it == RuleTable().end()) return nullptr;
  const std::vector<OpsetRule>& rules = it->second;
  auto after = std::upper_bound(rules.begin(), rules.end(), opset,
                                [](int64_t v, const OpsetRule& r) { return v < r.since; });
  const OpsetRule& rule = after == rules.begin() ? rules.front() : *std::prev(after);
  return rule.adapt == nullptr ? nullptr : &rule;
}

int64_t NewestKnownOpset(absl::string_view domain) {
  if (domain.empty()) return 27;
  if (domain == "ai.onnx.ml") return 5;
  if (domain == "com.microsoft" || domain == "ai.onnx.preview") return 1;
  return 0;
}

}  // namespace inferd::engine
