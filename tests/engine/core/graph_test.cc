#include "engine/ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ir/text_format.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::Status SameAsInput(InferenceContext& c) {
  c.SetOutput(0, c.element_type(0), c.shape(0));
  return absl::OkStatus();
}

absl::Status BodyOutput(InferenceContext& c) {
  const auto* body = c.attributes().Get<std::shared_ptr<Graph>>("body");
  c.SetOutput(0, (*body)->outputs()[0]->type());
  return absl::OkStatus();
}

// A registry of its own: what is tested here is the graph, not an operator.
const OpRegistry& Ops() {
  static const OpRegistry* registry = [] {
    auto* r = new OpRegistry;
    const FormalParameter x{"X", "T", type_sets::kFloats};
    r->Register({.name = "Neg", .inputs = {x}, .outputs = {x}, .infer = SameAsInput});
    r->Register({.name = "Add", .inputs = {x, x}, .outputs = {x}, .infer = SameAsInput});
    r->Register({.name = "Clip",
                 .inputs = {x,
                            {"min", "T", type_sets::kFloats, FormalParameter::Option::kOptional},
                            {"max", "T", type_sets::kFloats, FormalParameter::Option::kOptional}},
                 .outputs = {x},
                 .attributes = {{"alpha", AttributeSpec::Kind::kFloat},
                                {"axes", AttributeSpec::Kind::kInts},
                                {"mode", AttributeSpec::Kind::kString},
                                {"n", AttributeSpec::Kind::kInt},
                                {"t", AttributeSpec::Kind::kTensor}},
                 .infer = SameAsInput});
    r->Register({.name = "Block",
                 .inputs = {x, {"captured", "", {}, FormalParameter::Option::kRepeated}},
                 .outputs = {x},
                 .attributes = {{"body", AttributeSpec::Kind::kGraph, true},
                                {"captures", AttributeSpec::Kind::kInt}},
                 .infer = BodyOutput});
    return r;
  }();
  return *registry;
}

std::unique_ptr<Graph> Parse(absl::string_view text) {
  auto graph = ParseGraph(text, Ops());
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : nullptr;
}

constexpr absl::string_view kSample =
    R"(graph sample (x: float[batch,3], y: float[?,3]) -> (c as result, a) {
  k = constant float[3] {1,-2.5,1e+10}
  a = Add(x, k) @"add/1"
  b = Neg(a)
  c = Clip{alpha=2.0, axes=[1,-1], mode="a\"b", n=-3, t=float[1] {0.5}}(b, _, k)
}
)";

TEST(TextFormat, RoundTrips) {
  auto graph = Parse(kSample);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(PrintGraph(*graph), kSample);
  EXPECT_TRUE(Verify(*graph).ok());
  EXPECT_EQ(PrintGraph(*Parse(PrintGraph(*graph))), kSample);
}

TEST(TextFormat, BodiesCaptureOuterValues) {
  auto graph = Parse(R"(graph g (x: float[2]) -> (z) {
    y = Neg(x)
    z = Block{body={graph b () -> (w) { w = Add(y, y) }}}(x)
  })");
  ASSERT_NE(graph, nullptr);
  EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph);
  EXPECT_EQ(graph->RemoveDead(), 0) << "y is used by the body";
}

TEST(TextFormat, ErrorsNameLineAndColumn) {
  struct Case {
    absl::string_view text, expected;
  };
  for (const Case& c : std::vector<Case>{
           {"graph g (x: float[2]) -> (y) {\n  y = Nope(x)\n}", "unknown operator Nope"},
           {"graph g (x: float[2]) -> (y) {\n  y = Neg(q)\n}",
            "line 2, column 12: unknown value q"},
           {"graph g (x: flot[2]) -> (y) {}", "unknown element type 'flot'"},
           {"graph g (x: float[2]) -> (y) {\n  y = Neg(x, x)\n}", "has 2 inputs, expected 1"},
           {"graph g (x: float[2]) -> (y) {\n  y = Neg(x)\n", "expected a name"},
           {"graph g (x: int64[2]) -> (y) {\n  y = Neg(x)\n}", "supported are float"},
           {"graph g (x: float[2]) -> (y) {\n  y = Clip{n=1.5}(x)\n}", "expected int"},
           {"graph g (x: float[2]) -> (y) {\n  y = Clip{foo=1}(x)\n}", "unknown attribute 'foo'"},
           {"graph g () -> (k) {\n  k = constant float[2] {1}\n}", "expected ','"},
           {"", "expected 'graph'"},
       }) {
    auto graph = ParseGraph(c.text, Ops());
    ASSERT_FALSE(graph.ok()) << c.text;
    EXPECT_THAT(std::string(graph.status().message()), HasSubstr(std::string(c.expected)));
  }
}

TEST(Graph, ReplaceAllUsesMovesOutputsToo) {
  auto graph = Parse(kSample);
  Value* a = graph->FindValue("a");
  Value* x = graph->FindValue("x");
  graph->ReplaceAllUses(a, x);
  EXPECT_THAT(graph->outputs(), ElementsAre(graph->FindValue("c"), x));
  EXPECT_EQ(graph->output_name(1), "a") << "clients keep asking for the old name";
  EXPECT_EQ(graph->RemoveDead(), 1);
  EXPECT_EQ(graph->FindValue("a"), nullptr);
  EXPECT_TRUE(Verify(*graph).ok());
}

TEST(Graph, MakeConstantCutsTheProducerOff) {
  auto graph = Parse(kSample);
  graph->MakeConstant(graph->FindValue("b"), Tensor::FromValues<float>({1, 3}, {1, 2, 3}));
  EXPECT_EQ(graph->RemoveDead(), 1);
  EXPECT_TRUE(Verify(*graph).ok()) << Verify(*graph);
}

TEST(Graph, CloneIsIndependent) {
  auto graph = Parse(kSample);
  auto copy = graph->Clone();
  EXPECT_EQ(PrintGraph(*copy), PrintGraph(*graph));
  EXPECT_TRUE(Verify(*copy).ok());
  graph.reset();
  EXPECT_EQ(PrintGraph(*copy), kSample);
}

TEST(Graph, SortFindsAnOrderOrNamesTheCycle) {
  const OpDef& neg = Ops().Get("Neg");
  Graph graph("g");
  Value* x = graph.AddInput("x", ValueType::TensorOf(ElementType::kFloat32, Shape{1}));
  Value* a = graph.AddValue("a");
  Value* b = graph.AddValue("b");
  graph.AddNode(neg, "second", {a}, {b});
  Node* first = graph.AddNode(neg, "first", {x}, {a});
  graph.AddOutput(b);
  EXPECT_FALSE(Verify(graph).ok());
  ASSERT_TRUE(graph.SortTopologically().ok());
  EXPECT_EQ(graph.nodes()[0].get(), first);
  EXPECT_TRUE(Verify(graph).ok());
  graph.SetInput(first, 0, b);
  const absl::Status cycle = graph.SortTopologically();
  EXPECT_EQ(cycle.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cycle.message()), HasSubstr("cycle"));
}

TEST(Graph, NamesAreMadeFresh) {
  Graph graph("g");
  Value* a = graph.AddValue("v");
  Value* b = graph.AddValue("v");
  Value* c = graph.AddValue("");
  EXPECT_NE(a->name(), b->name());
  EXPECT_FALSE(c->name().empty());
  Node* node = graph.AddNode(Ops().Get("Neg"), "", {graph.AddInput("x", {})}, {a});
  EXPECT_EQ(node->display_name(), "Neg#0 (output \"v\")");
}

}  // namespace
}  // namespace inferd::engine
