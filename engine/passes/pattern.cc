#include "engine/passes/pattern.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "engine/status_macros.h"

namespace inferd::engine {

struct PatternNode {
  enum class Kind : uint8_t { kAny, kAbsent, kConstant, kNumber, kPerChannel, kOp, kOneOf };
  Kind kind = Kind::kAny;
  std::string name = {};  // of the value; empty: not captured
  std::string op = {};
  std::vector<Pattern> children = {};  // operands or alternatives
  std::optional<double> number = {};   // kNumber: the wanted one
  std::function<bool(const Node&)> condition = {};
};

namespace {

using Kind = PatternNode::Kind;

Pattern Make(PatternNode node) {
  return Pattern(std::make_shared<const PatternNode>(std::move(node)));
}

bool IsFloatType(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat64 ||
         type == ElementType::kFloat16 || type == ElementType::kBfloat16;
}

bool IsCommutative(const Node& node) {
  if (node.num_inputs() != 2 || !node.op().domain.empty()) return false;
  for (const char* name : {"Add", "Mul", "Sum", "Max", "Min", "And", "Or", "Xor", "Equal"}) {
    if (node.op().name == name) return true;
  }
  return false;
}

// How far a constant may be from the number it stands for, relative to it.
double Tolerance(ElementType type) {
  if (type == ElementType::kFloat16) return 1e-3;
  if (type == ElementType::kBfloat16) return 4e-3;
  return 1e-5;
}

bool IsNumber(const Value* value, const std::optional<double>& wanted) {
  const std::optional<double> number = NumberOf(value);
  if (!number.has_value()) return false;
  if (!wanted.has_value()) return true;
  return std::abs(*number - *wanted) <= Tolerance(value->constant().type()) * std::abs(*wanted);
}

// All ways to put the factors into two groups, neither empty; factor 0 is in the first.
void ForEachSplit(const std::vector<Pattern>& factors,
                  absl::FunctionRef<void(std::vector<Pattern>, std::vector<Pattern>)> visit) {
  const unsigned others = static_cast<unsigned>(factors.size()) - 1;
  for (unsigned mask = 0; mask + 1 < (1u << others); ++mask) {
    std::vector<Pattern> first = {factors[0]}, second;
    for (unsigned i = 0; i < others; ++i) {
      ((mask >> i & 1) != 0 ? first : second).push_back(factors[i + 1]);
    }
    visit(std::move(first), std::move(second));
  }
}

}  // namespace

Pattern Pattern::As(absl::string_view name) const {
  PatternNode copy = *node_;
  copy.name = std::string(name);
  return Make(std::move(copy));
}

Pattern Pattern::Where(std::function<bool(const Node&)> condition) const {
  PatternNode copy = *node_;
  copy.condition = std::move(condition);
  return Make(std::move(copy));
}

Pattern Any(absl::string_view name) {
  return Make({.kind = Kind::kAny, .name = std::string(name)});
}
Pattern Absent() { return Make({.kind = Kind::kAbsent}); }
Pattern Constant(absl::string_view name) {
  return Make({.kind = Kind::kConstant, .name = std::string(name)});
}
Pattern Number(absl::string_view name) {
  return Make({.kind = Kind::kNumber, .name = std::string(name)});
}
Pattern Is(double number) { return Make({.kind = Kind::kNumber, .number = number}); }
Pattern PerChannel(absl::string_view name) {
  return Make({.kind = Kind::kPerChannel, .name = std::string(name)});
}
Pattern Op(absl::string_view name, std::vector<Pattern> operands) {
  return Make({.kind = Kind::kOp, .op = std::string(name), .children = std::move(operands)});
}
Pattern OneOf(std::vector<Pattern> alternatives) {
  return Make({.kind = Kind::kOneOf, .children = std::move(alternatives)});
}

Pattern Product(std::vector<Pattern> factors) {
  if (factors.size() == 1) return factors[0];
  std::vector<Pattern> ways;
  const auto divides = [&](const std::vector<Pattern>& group) {
    const PatternNode& node = group[0].node();
    return group.size() == 1 && node.kind == Kind::kNumber && node.number.has_value();
  };
  const auto divided = [&](const std::vector<Pattern>& rest, const Pattern& number) {
    ways.push_back(Op("Div", {Product(rest), Is(1 / *number.node().number)}));
  };
  ForEachSplit(factors, [&](std::vector<Pattern> a, std::vector<Pattern> b) {
    ways.push_back(Op("Mul", {Product(a), Product(b)}));
    if (divides(b)) divided(a, b[0]);
    if (divides(a)) divided(b, a[0]);
  });
  return ways.size() == 1 ? ways[0] : OneOf(std::move(ways));
}

Pattern Square(const Pattern& x) { return OneOf({Op("Pow", {x, Is(2)}), Op("Mul", {x, x})}); }

Pattern Cube(const Pattern& x) { return OneOf({Op("Pow", {x, Is(3)}), Op("Mul", {x, Square(x)})}); }

Pattern InverseSqrt(const Pattern& x) {
  return OneOf({Op("Reciprocal", {Op("Sqrt", {x})}), Op("Div", {Is(1), Op("Sqrt", {x})}),
                Op("Pow", {x, Is(-0.5)}), Op("Sqrt", {Op("Reciprocal", {x})})});
}

Pattern DividedBySqrt(const Pattern& y, const Pattern& x) {
  return OneOf({Op("Div", {y, OneOf({Op("Sqrt", {x}), Op("Pow", {x, Is(0.5)})})}),
                Op("Mul", {y, InverseSqrt(x)})});
}

// Backtracking by continuations: every step calls `next` with its choice made and undoes the choice
// where `next` fails.
class Matcher {
 public:
  using Next = absl::FunctionRef<bool()>;

  Matcher(Rewriter& rewriter, Node* root) : rewriter_(rewriter), match_(rewriter, root) {}

  std::optional<Match> Run(const Pattern& pattern) {
    if (!rewriter_.IsReplaceable(match_.root_)) return std::nullopt;
    if (!MatchValue(pattern, match_.root_->output(0), nullptr, [&] { return InnerUsesOnly(); })) {
      return std::nullopt;
    }
    return std::move(match_);
  }

 private:
  bool MatchValue(const Pattern& pattern, Value* value, const Node* user, Next next) {
    const PatternNode& p = pattern.node();
    if (p.kind == Kind::kOneOf) {
      return std::any_of(p.children.begin(), p.children.end(), [&](const Pattern& alternative) {
        return MatchValue(alternative, value, user, next);
      });
    }
    if (p.kind == Kind::kAbsent) return value == nullptr && next();
    if (value == nullptr) return false;
    if (!p.name.empty()) {
      for (const auto& [name, bound] : match_.captures_) {
        if (name == p.name) return bound == value && next();
      }
    }
    switch (p.kind) {
      case Kind::kOp:
        return MatchNode(p, value, next);
      case Kind::kConstant:
        return value->is_constant() && Capture(p, value, next);
      case Kind::kPerChannel:
        return IsPerChannel(value, user) && Capture(p, value, next);
      case Kind::kNumber: {
        if (!IsNumber(value, p.number)) return false;
        match_.number_ranks_.push_back(value->constant().shape().rank());
        if (Capture(p, value, next)) return true;
        match_.number_ranks_.pop_back();
        return false;
      }
      default:
        return Capture(p, value, next);
    }
  }

  bool Capture(const PatternNode& p, Value* value, Next next) {
    if (p.name.empty()) return next();
    match_.captures_.emplace_back(p.name, value);
    if (next()) return true;
    match_.captures_.pop_back();
    return false;
  }

  bool MatchNode(const PatternNode& p, Value* value, Next next) {
    Node* node = value->producer();
    if (!IsOp(node, p.op) || value->producer_output() != 0 || !rewriter_.IsReplaceable(node)) {
      return false;
    }
    if (!value->type().is_tensor() || !IsFloatType(value->type().element)) return false;
    if (node->num_inputs() > static_cast<int>(p.children.size())) return false;
    if (p.condition && !p.condition(*node)) return false;
    match_.nodes_.push_back(node);
    const bool matched = Capture(p, value, [&] {
      if (MatchOperands(p, *node, 0, false, next)) return true;
      return IsCommutative(*node) && MatchOperands(p, *node, 0, true, next);
    });
    if (!matched) match_.nodes_.pop_back();
    return matched;
  }

  bool MatchOperands(const PatternNode& p, const Node& node, size_t i, bool swapped, Next next) {
    if (i == p.children.size()) return next();
    Value* operand = node.input(static_cast<int>(swapped ? 1 - i : i));
    return MatchValue(p.children[i], operand, &node,
                      [&] { return MatchOperands(p, node, i + 1, swapped, next); });
  }

  static bool IsPerChannel(const Value* value, const Node* user) {
    if (user == nullptr || user->num_inputs() != 2) return false;
    const SymbolicShape& x = user->input(user->input(0) == value ? 1 : 0)->type().shape;
    return x.has_rank() && x.rank() >= 2 && x[1].known() &&
           ChannelConstant(value, x.rank(), x[1].value()).has_value();
  }

  // The check every rule relies on: what the match removes, nothing else needs.
  bool InnerUsesOnly() const {
    const auto& nodes = match_.nodes_;
    for (const Node* node : nodes) {
      if (node == match_.root_) continue;
      const Value* result = node->output(0);
      if (!rewriter_.IsInternal(result)) return false;
      for (const Value::Use& use : result->uses()) {
        if (std::find(nodes.begin(), nodes.end(), use.node) == nodes.end()) return false;
      }
    }
    return true;
  }

  Rewriter& rewriter_;
  Match match_;
};

Value* Match::operator[](absl::string_view name) const {
  for (const auto& [captured, value] : captures_) {
    if (captured == name) return value;
  }
  return nullptr;
}

double Match::number(absl::string_view name, double otherwise) const {
  return NumberOf((*this)[name]).value_or(otherwise);
}

bool Match::KeepsShapeOf(absl::string_view name) const {
  int rank = 0;
  for (const int r : number_ranks_) rank = std::max(rank, r);
  if (rank == 0) return true;
  const SymbolicShape& shape = (*this)[name]->type().shape;
  return shape.has_rank() && shape.rank() >= rank;
}

namespace {

const OpDef& FindOp(const OpRegistry& registry, absl::string_view name) {
  const size_t at = name.find("::");
  if (at == absl::string_view::npos) return registry.Get(name);
  return registry.Get(name.substr(at + 2), name.substr(0, at));
}

}  // namespace

Value* Match::Add(absl::string_view op, std::vector<Value*> inputs, Attributes attributes) {
  Value* output = graph().AddValue(root_->output(0)->name(), root_->output(0)->type());
  Node* node = graph().InsertNode(root_, FindOp(registry(), op), root_->name(), std::move(inputs),
                                  {output}, std::move(attributes));
  node->AddOrigins(*root_);
  return output;
}

Node* Match::ReplaceWith(absl::string_view op, std::vector<Value*> inputs, Attributes attributes) {
  Node* node = rewriter_.Replace(root_, FindOp(registry(), op), root_->name(), std::move(inputs),
                                 std::move(attributes));
  for (Node* inner : nodes_) {
    if (inner != root_) node->AddOrigins(*inner);
  }
  return node;
}

std::optional<Match> MatchAt(Rewriter& rewriter, Node* root, const Pattern& pattern) {
  return Matcher(rewriter, root).Run(pattern);
}

absl::StatusOr<int> ApplyRules(Graph& graph, const OpRegistry& registry,
                               absl::Span<const Rule> rules) {
  Rewriter rewriter(graph, registry);
  const std::vector<Node*> snapshot = rewriter.Snapshot();
  absl::flat_hash_set<const Node*> removed;
  int applied = 0;
  for (auto at = snapshot.rbegin(); at != snapshot.rend(); ++at) {
    if (removed.contains(*at)) continue;
    for (const Rule& rule : rules) {
      std::optional<Match> match = MatchAt(rewriter, *at, rule.pattern);
      if (!match.has_value()) continue;
      ASSIGN_OR_RETURN(const bool built, rule.build(*match));
      if (!built) continue;
      ++applied;
      removed.insert(*at);
      // A node may be listed twice and feeds only those before it: remove what is left in rounds.
      std::vector<Node*> inner;
      for (Node* node : match->nodes_) {
        if (node != *at && std::find(inner.begin(), inner.end(), node) == inner.end()) {
          inner.push_back(node);
        }
      }
      for (bool progress = true; progress;) {
        progress = false;
        for (Node*& node : inner) {
          if (node == nullptr || !node->output(0)->uses().empty()) continue;
          if (!rewriter.IsInternal(node->output(0))) continue;
          graph.RemoveNode(node);
          removed.insert(node);
          node = nullptr;
          progress = true;
        }
      }
      break;
    }
  }
  return applied;
}

std::optional<double> NumberOf(const Value* value) {
  if (value == nullptr || !value->is_constant()) return std::nullopt;
  const Tensor& tensor = value->constant();
  if (tensor.num_elements() != 1) return std::nullopt;
  switch (tensor.type()) {
    case ElementType::kFloat32:
      return tensor.data<float>()[0];
    case ElementType::kFloat64:
      return tensor.data<double>()[0];
    case ElementType::kFloat16:
      return static_cast<float>(tensor.data<Float16>()[0]);
    case ElementType::kBfloat16:
      return static_cast<float>(tensor.data<BFloat16>()[0]);
    case ElementType::kInt32:
      return tensor.data<int32_t>()[0];
    case ElementType::kInt64:
      return static_cast<double>(tensor.data<int64_t>()[0]);
    default:
      return std::nullopt;
  }
}

}  // namespace inferd::engine
