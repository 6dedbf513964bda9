// Declarative rewrites: a rule is a pattern of operators and a function that builds what goes in
// its place. Internal to engine/passes.
//
// To write a rule, describe the value it replaces from its last node up:
//
//   // x * sigmoid(x)
//   Rule rule{.pattern = Op("Mul", {Any("x"), Op("Sigmoid", {Any("x")})}),
//             .build = [](Match& m) -> absl::StatusOr<bool> {
//               if (!m.KeepsShapeOf("x")) return false;
//               m.ReplaceWith("Swish", {m["x"]});
//               return true;
//             }};
//   absl::StatusOr<int> FuseSwish(Graph& graph, const OpRegistry& registry) {
//     return ApplyRules(graph, registry, {rule});
//   }
//
// What the engine sees to, and no rule repeats:
// - Operands of Add, Mul, And, Or, Xor, Equal and two-operand Sum, Max, Min match in either order.
// - A name stands for one value: everywhere after its first place it matches that value alone.
//   Naming an operator (Op(...).As("d")) lets its result be used twice inside a pattern.
// - Nodes inside a match disappear, so their results must not be used outside it nor be outputs
//   of the graph; where they are, the match is dropped and another alternative is tried. Captured
//   values that are no part of the match (Any, constants) may be used anywhere.
// - Values of any type other than the floating-point ones do not match an operator.
// - Nodes are visited from the last to the first, so that a pattern takes all of a spelling before
//   a smaller pattern takes a piece of it; for one node rules are tried in the order of the table.
// What a build function must see to: that the replacement is right for the shapes at hand. Return
// false, before any edit, to decline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/ir/graph.h"
#include "engine/ops/op_def.h"
#include "engine/passes/rewrite.h"

namespace inferd::engine {

struct PatternNode;
struct Rule;

// An immutable tree; copies share it.
class Pattern {
 public:
  explicit Pattern(std::shared_ptr<const PatternNode> node) : node_(std::move(node)) {}
  const PatternNode& node() const { return *node_; }
  // The same pattern, whose value has this name. Not for alternatives: name those inside.
  Pattern As(absl::string_view name) const;
  // Only nodes of which this is true match; operators only.
  Pattern Where(std::function<bool(const Node&)> condition) const;

 private:
  std::shared_ptr<const PatternNode> node_;
};

// Any value.
Pattern Any(absl::string_view name);
// An optional operand that is not there.
Pattern Absent();
// A constant.
Pattern Constant(absl::string_view name);
// A constant of one element, whatever its number: Match::number() reads it.
Pattern Number(absl::string_view name);
// A constant of one element that is `number`, up to how exporters write it: to five
// digits, or as far as the precision of its type goes.
Pattern Is(double number);
// A float32 constant that broadcasts along axis 1 alone over the other operand of its node.
Pattern PerChannel(absl::string_view name);
// A node of this operator (IsOp's notation) with these operands, no more and no fewer.
Pattern Op(absl::string_view name, std::vector<Pattern> operands);
// The first of these that lets the whole pattern match.
Pattern OneOf(std::vector<Pattern> alternatives);

// The product of the factors in every order and grouping of Mul; a number may also divide, as its
// reciprocal. Two factors or more.
Pattern Product(std::vector<Pattern> factors);
// x^2 and x^3 by Pow or by Mul.
Pattern Square(const Pattern& x);
Pattern Cube(const Pattern& x);
// 1 / sqrt(x), and y / sqrt(x), in their spellings.
Pattern InverseSqrt(const Pattern& x);
Pattern DividedBySqrt(const Pattern& y, const Pattern& x);

// What matched, and the edits a build function makes.
class Match {
 public:
  Node& root() const { return *root_; }
  Graph& graph() const { return rewriter_.graph(); }
  const OpRegistry& registry() const { return rewriter_.registry(); }
  // The value of that name; null where the alternative that matched does not have it.
  Value* operator[](absl::string_view name) const;
  // The number of a Number(), `otherwise` where it is not part of the match.
  double number(absl::string_view name, double otherwise = 0) const;

  // The root's output has the shape of the named value, given that all other operands are the
  // numbers of the pattern: none of them raises the rank.
  bool KeepsShapeOf(absl::string_view name) const;

  // A new node just before the root; its output takes the root's type until shapes are inferred.
  Value* Add(absl::string_view op, std::vector<Value*> inputs, Attributes attributes = {});
  // Puts one node in the place of the match. The last edit.
  Node* ReplaceWith(absl::string_view op, std::vector<Value*> inputs, Attributes attributes = {});

 private:
  friend class Matcher;
  friend absl::StatusOr<int> ApplyRules(Graph&, const OpRegistry&, absl::Span<const Rule>);
  Match(Rewriter& rewriter, Node* root) : rewriter_(rewriter), root_(root) {}

  Rewriter& rewriter_;
  Node* root_;
  absl::InlinedVector<std::pair<std::string, Value*>, 8> captures_;
  absl::InlinedVector<Node*, 16> nodes_;  // all matched, the root first
  absl::InlinedVector<int, 8> number_ranks_;
};

struct Rule {
  Pattern pattern;
  // True where it applied.
  std::function<absl::StatusOr<bool>(Match&)> build;
};

// Whether the pattern matches with `root` as its last node, and what its names stand for. Edits
// nothing.
std::optional<Match> MatchAt(Rewriter& rewriter, Node* root, const Pattern& pattern);

// One sweep over the graph with all rules; how many times they applied.
absl::StatusOr<int> ApplyRules(Graph& graph, const OpRegistry& registry,
                               absl::Span<const Rule> rules);

// The number in a constant of one element, floating-point or integer.
std::optional<double> NumberOf(const Value* value);

}  // namespace inferd::engine
