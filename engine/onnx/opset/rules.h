// The table of opset differences.
//
// The internal form of an operator is its newest version in the standard. A rule says how a node
// written for an older version becomes that form. A rule holds from version `since` of its
// operator until the next rule of the same operator; where no rule holds, the node already has
// the internal form (versions that only add types need no rule). To support one more old version,
// add a row to the table of its family.
//
// Semantics of old versions: https://github.com/onnx/onnx/blob/main/docs/Changelog.md
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace inferd::engine {

class NodeAdapter;

// INVALID_ARGUMENT: the node is wrong in the terms of its own version. UNIMPLEMENTED: it is right
// but cannot be brought to the internal form; the message says why.
using AdaptFn = absl::Status (*)(NodeAdapter& node);

struct OpsetRule {
  absl::string_view domain;
  absl::string_view op;
  int64_t since;
  AdaptFn adapt;  // null: the internal form from here on
};

// The rule for an operator as of `opset`; null where none holds. The oldest rule also serves
// opsets before it: some exporters write an operator under an opset that lacks it.
const OpsetRule* FindRule(absl::string_view domain, absl::string_view op, int64_t opset);

// Every operator that has rules, with its rules in order of `since`; sorted by domain and operator.
// For documentation.
std::vector<std::vector<OpsetRule>> RulesByOperator();

// Newest version of a domain the engine knows; 0 for a domain it knows nothing about.
int64_t NewestKnownOpset(absl::string_view domain);

// The operator that takes the place of one the standard has retired or never had; "" for any
// other.
absl::string_view ReplacementOf(absl::string_view op);

// One table per family, each in its own file.
absl::Span<const OpsetRule> BroadcastRules();
absl::Span<const OpsetRule> ElementwiseRules();
absl::Span<const OpsetRule> NormalizationRules();
absl::Span<const OpsetRule> SoftmaxRules();
absl::Span<const OpsetRule> AxesRules();
absl::Span<const OpsetRule> MovementRules();
absl::Span<const OpsetRule> ResizeRules();
absl::Span<const OpsetRule> PoolRules();
absl::Span<const OpsetRule> SelectionRules();
absl::Span<const OpsetRule> CastRules();
absl::Span<const OpsetRule> RecurrentRules();
absl::Span<const OpsetRule> ControlFlowRules();
absl::Span<const OpsetRule> RetiredRules();
absl::Span<const OpsetRule> MlRules();
absl::Span<const OpsetRule> MicrosoftRules();
absl::Span<const OpsetRule> MicrosoftFusedRules();

}  // namespace inferd::engine
