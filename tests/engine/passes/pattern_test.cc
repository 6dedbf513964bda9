// The matcher of declarative rules.
#include "engine/passes/pattern.h"

#include <memory>

#include "engine/ir/text_format.h"
#include "tests/engine/passes/pass_tester.h"

namespace inferd::engine {
namespace {

// A graph and the last of its nodes, on which patterns are tried.
struct Subject {
  explicit Subject(absl::string_view text) {
    auto parsed = ParseGraph(text, OpRegistry::Global());
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    graph = *std::move(parsed);
    EXPECT_TRUE(InferShapes(*graph).ok());
    rewriter = std::make_unique<Rewriter>(*graph, OpRegistry::Global());
  }
  std::optional<Match> Try(const Pattern& pattern) {
    return MatchAt(*rewriter, graph->nodes().back().get(), pattern);
  }
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Rewriter> rewriter;
};

constexpr char kGated[] = R"(
    graph g (x: float[2,3]) -> (y) {
      s = Sigmoid(x)
      y = Mul(s, x)
    })";

TEST(Pattern, CommutativeOperandsAndRepeatedNames) {
  Subject g(kGated);
  const auto match = g.Try(Op("Mul", {Any("x"), Op("Sigmoid", {Any("x")})}));
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ((*match)["x"]->name(), "x");
  EXPECT_EQ((*match)["z"], nullptr);
  EXPECT_FALSE(g.Try(Op("Mul", {Any("x"), Op("Tanh", {Any("x")})})).has_value());
  EXPECT_FALSE(g.Try(Op("Mul", {Any("x"), Any("x")})).has_value());
}

TEST(Pattern, OperandsOfOtherOperatorsKeepTheirOrder) {
  Subject g(R"(
    graph g (x: float[2]) -> (y) {
      s = Sigmoid(x)
      y = Sub(s, x)
    })");
  EXPECT_FALSE(g.Try(Op("Sub", {Any("x"), Op("Sigmoid", {Any("x")})})).has_value());
  EXPECT_TRUE(g.Try(Op("Sub", {Op("Sigmoid", {Any("x")}), Any("x")})).has_value());
}

TEST(Pattern, BacktracksIntoAlternativesAndOperandOrder) {
  // The first alternative and the first order both match a part before they fail.
  Subject g(R"(
    graph g (a: float[2], b: float[2]) -> (y) {
      p = Mul(a, b)
      y = Add(p, a)
    })");
  const auto match =
      g.Try(Op("Add", {OneOf({Op("Mul", {Any("u"), Any("v")}), Any("w")}), Any("v")}));
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ((*match)["u"]->name(), "b");
  EXPECT_EQ((*match)["v"]->name(), "a");
  EXPECT_EQ((*match)["w"], nullptr);
}

TEST(Pattern, ResultsUsedOutsideAMatchPreventIt) {
  const Pattern pattern = Op("Mul", {Any("x"), Op("Sigmoid", {Any("x")})});
  Subject output(R"(
    graph g (x: float[2]) -> (y, s) {
      s = Sigmoid(x)
      y = Mul(s, x)
    })");
  EXPECT_FALSE(output.Try(pattern).has_value());
  Subject other_use(R"(
    graph g (x: float[2]) -> (y, z) {
      s = Sigmoid(x)
      z = Neg(s)
      y = Mul(s, x)
    })");
  EXPECT_FALSE(other_use.Try(pattern).has_value());
  // What is captured may be used anywhere.
  EXPECT_TRUE(other_use.Try(Op("Mul", {Any("x"), Any("s")})).has_value());
}

TEST(Pattern, NamedOperatorMayBeUsedTwiceInside) {
  Subject g(R"(
    graph g (x: float[2], m: float[2]) -> (y) {
      d = Sub(x, m)
      q = Mul(d, d)
      y = Div(d, q)
    })");
  const Pattern d = Op("Sub", {Any("x"), Any("m")}).As("d");
  const auto match = g.Try(Op("Div", {d, Square(d)}));
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ((*match)["d"]->name(), "d");
}

TEST(Pattern, Numbers) {
  Subject g(R"(
    graph g (x: float[2]) -> (y) {
      c = constant float[1] {0.70710677}
      y = Mul(c, x)
    })");
  EXPECT_TRUE(g.Try(Op("Mul", {Any("x"), Is(0.7071067811865476)})).has_value());
  EXPECT_FALSE(g.Try(Op("Mul", {Any("x"), Is(0.7072)})).has_value());
  EXPECT_TRUE(g.Try(Op("Mul", {Any("x"), Constant("c")})).has_value());
  const auto match = g.Try(Op("Mul", {Any("x"), Number("c")}));
  ASSERT_TRUE(match.has_value());
  EXPECT_NEAR(match->number("c"), 0.7071068, 1e-6);
  EXPECT_EQ(match->number("absent", 7), 7);
  EXPECT_TRUE(match->KeepsShapeOf("x"));
  // Zero is itself alone.
  EXPECT_FALSE(g.Try(Op("Mul", {Any("x"), Is(0)})).has_value());
}

TEST(Pattern, ANumberOfHigherRankRaisesTheResult) {
  Subject g(R"(
    graph g (x: float[2]) -> (y) {
      c = constant float[1,1] {3}
      y = Mul(c, x)
    })");
  const auto match = g.Try(Op("Mul", {Any("x"), Is(3)}));
  ASSERT_TRUE(match.has_value());
  EXPECT_FALSE(match->KeepsShapeOf("x"));
}

TEST(Pattern, PerChannelConstants) {
  constexpr char kText[] = R"(
    graph g (x: float[1,2,3,3]) -> (y) {
      c = constant float[2,1,1] {2,4}
      y = Mul(c, x)
    })";
  EXPECT_TRUE(Subject(kText).Try(Op("Mul", {Any("x"), PerChannel("c")})).has_value());
  Subject columns(R"(
    graph g (x: float[1,2,3,3]) -> (y) {
      c = constant float[3] {2,4,6}
      y = Mul(c, x)
    })");
  EXPECT_FALSE(columns.Try(Op("Mul", {Any("x"), PerChannel("c")})).has_value());
}

TEST(Pattern, OptionalOperandsAndConditions) {
  Subject g(R"(
    graph g (x: float[2]) -> (y) {
      y = LeakyRelu{alpha=0.5}(x)
    })");
  const auto alpha_is = [](float alpha) {
    return [alpha](const Node& node) { return node.attributes().GetFloat("alpha", 0) == alpha; };
  };
  EXPECT_TRUE(g.Try(Op("LeakyRelu", {Any("x")}).Where(alpha_is(0.5f))).has_value());
  EXPECT_FALSE(g.Try(Op("LeakyRelu", {Any("x")}).Where(alpha_is(0.1f))).has_value());
  Subject clip(R"(
    graph g (x: float[2]) -> (y) {
      six = constant float[] {6}
      y = Clip(x, _, six)
    })");
  EXPECT_TRUE(clip.Try(Op("Clip", {Any("x"), Absent(), Is(6)})).has_value());
  EXPECT_FALSE(clip.Try(Op("Clip", {Any("x"), Is(0), Is(6)})).has_value());
  EXPECT_FALSE(clip.Try(Op("Clip", {Any("x")})).has_value());
}

TEST(Pattern, ProductsInEveryGrouping) {
  const Pattern product = Product({Any("x"), Is(0.25), Op("Tanh", {Any("x")})});
  for (const char* text :
       {"t = Tanh(x) a = Mul(x, t) y = Mul(c, a)", "t = Tanh(x) a = Mul(c, t) y = Mul(a, x)",
        "t = Tanh(x) a = Mul(x, c) y = Mul(t, a)", "t = Tanh(x) a = Mul(x, t) y = Div(a, f)",
        "t = Tanh(x) a = Div(x, f) y = Mul(t, a)"}) {
    std::string lines(text);
    for (size_t at; (at = lines.find(") ")) != std::string::npos;) lines.replace(at, 2, ")\n");
    Subject g(
        "graph g (x: float[2]) -> (y) {\nc = constant float[] {0.25}\n"
        "f = constant float[] {4}\n" +
        lines + "\n}");
    EXPECT_TRUE(g.Try(product).has_value()) << text;
  }
}

}  // namespace
}  // namespace inferd::engine
