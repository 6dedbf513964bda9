// Models that cannot run: every gap is named at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string GapsOf(const std::string& text) {
  auto model = ImportText(text);
  EXPECT_EQ(model.status().code(), absl::StatusCode::kUnimplemented) << model.status();
  return std::string(model.status().message());
}

TEST(GapTest, AllGapsAreListed) {
  const std::string message = GapsOf(ModelText(
      13,
      FloatInput("x", "2,N") + NodeText("Frobnicate", "x", "a", "name: \"frob\"") +
          NodeText("Frobnicate", "a", "b") + NodeText("Twist", "b,x", "c", "domain: \"com.acme\"") +
          InputText("s", 8, "3") + NodeText("Relu", "s", "d") + NodeText("Add", "x,s", "e") +
          NodeText("Concat", "x,x", "f") + NodeText("Relu", "x,x", "g") +
          NodeText("Flatten", "x", "h", FloatAttribute("axis", 1)) +
          NodeText("Relu", "x", "i", IntAttribute("speed", 1)) + OutputText("c"),
      "opset_import { domain: \"com.acme\" version: 3 }"));
  EXPECT_THAT(message, HasSubstr("8 gaps"));
  EXPECT_THAT(message,
              HasSubstr("Frobnicate (ai.onnx opset 13) at frob (Frobnicate), Frobnicate#1 (output "
                        "\"b\"), inputs (float[2,N]): this operator is not implemented"));
  EXPECT_THAT(message, HasSubstr("Twist (com.acme opset 3) at Twist#2 (output \"c\"), inputs "
                                 "(unknown, float[2,N]): no operator of domain com.acme"));
  EXPECT_THAT(message, HasSubstr("has element type string; supported are"));
  EXPECT_THAT(message, HasSubstr("Add (ai.onnx opset 13) at Add#4 (output \"e\")"));
  EXPECT_THAT(message, HasSubstr("lacks attribute 'axis'"));
  EXPECT_THAT(message, HasSubstr("has 2 inputs, expected 1"));
  EXPECT_THAT(message, HasSubstr("attribute 'axis' of kind float, expected int"));
  EXPECT_THAT(message, HasSubstr("has unknown attribute 'speed'"));
}

TEST(GapTest, ElementsOfAVariadicInputCannotBeAbsent) {
  const std::string message = GapsOf(
      ModelText(13, FloatInput("x", "2") + NodeText("Concat", "_,x", "y", IntAttribute("axis", 0)) +
                        OutputText("y")));
  EXPECT_THAT(message, HasSubstr("input 0 (inputs) is missing"));
}

TEST(GapTest, ManyNodesWithOneGapShareALine) {
  std::string graph = FloatInput("x", "2");
  for (int i = 0; i < 100; ++i) {
    graph += NodeText("Frobnicate", i == 0 ? "x" : absl::StrCat("t", i - 1), absl::StrCat("t", i));
  }
  const std::string message = GapsOf(ModelText(13, graph + OutputText("t99")));
  EXPECT_THAT(message, HasSubstr("1 gap\n"));
  EXPECT_THAT(message, HasSubstr("and 95 more"));
  EXPECT_THAT(message, Not(HasSubstr("t50")));
}

TEST(GapTest, GapsInsideFunctionsAreNamedByTheCall) {
  const std::string message = GapsOf(ModelText(
      13,
      FloatInput("x", "2") + NodeText("F", "x", "y", "domain: \"my\" name: \"call\"") +
          OutputText("y"),
      "opset_import { domain: \"my\" version: 1 } functions { name: \"F\" domain: \"my\" input: "
      "\"a\" output: \"b\" opset_import { version: 13 } " +
          NodeText("Frobnicate", "a", "b", "name: \"inner\"") + "}"));
  EXPECT_THAT(message, HasSubstr("at call/inner (Frobnicate)"));
}

TEST(GapTest, ADomainWithoutImportIsNotedNotRefused) {
  const std::string message = GapsOf(
      ModelText(13, FloatInput("x", "2") + NodeText("Twist", "x", "y", "domain: \"com.acme\"") +
                        OutputText("y")));
  EXPECT_THAT(message, HasSubstr("Twist (com.acme opset 1)"));
}

TEST(GapTest, AReplacementThatIsMissingIsNamed) {
  OpRegistry empty;
  auto model = ImportText(
      ModelText(11, FloatInput("x", "2") + FloatInput("s", "2") +
                        NodeText("SimplifiedLayerNormalization", "x,s", "y") +
                        NodeText("Softmax", "y", "z", IntAttribute("axis", 0)) + OutputText("z")),
      empty);
  ASSERT_EQ(model.status().code(), absl::StatusCode::kUnimplemented);
  const std::string message(model.status().message());
  EXPECT_THAT(message, HasSubstr("it is imported as RMSNormalization, which is not implemented"));
}

TEST(GapTest, AFailingShapeFunctionIsAnInvalidModel) {
  auto model = ImportText(ModelText(13, FloatInput("x", "2,3") + FloatInput("z", "4,5") +
                                            NodeText("MatMul", "x,z", "y", "name: \"mm\"") +
                                            OutputText("y")));
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << model.status();
  EXPECT_THAT(std::string(model.status().message()), HasSubstr("mm (MatMul)"));
}

TEST(ListOperatorsTest, CountsOperatorsInEveryCorner) {
  const std::string body = " attribute { name: \"then_branch\" type: GRAPH g { " +
                           NodeText("Relu", "x", "t") + OutputText("t") + " } }";
  const std::string path = absl::StrCat(::testing::TempDir(), "/list_operators_test.onnx");
  std::ofstream(path, std::ios::binary) << ModelBytes(ModelText(
      13,
      FloatInput("x", "2") + NodeText("Relu", "x", "a") + NodeText("If", "x", "b", body) +
          NodeText("Frobnicate", "x", "c") + NodeText("F", "x", "d", "domain: \"my\"") +
          NodeText("F", "x", "e", "domain: \"my\"") + NodeText("Upsample", "x,x", "u") +
          NodeText("Constant", "", "k", IntAttribute("value_int", 1)) + OutputText("a"),
      "opset_import { domain: \"my\" version: 1 } functions { name: \"F\" domain: \"my\" input: "
      "\"a\" output: \"b\" opset_import { version: 11 } " +
          NodeText("Neg", "a", "b") + "}"));
  auto uses = ListOperators(path, OpRegistry::Global());
  ASSERT_TRUE(uses.ok()) << uses.status();
  std::vector<std::string> lines;
  for (const OperatorUse& use : *uses) {
    lines.push_back(absl::StrCat(use.domain, ":", use.op, ":", use.opset, ":", use.count, ":",
                                 use.supported ? "ok" : use.gap));
  }
  EXPECT_THAT(lines, ::testing::IsSupersetOf({":Relu:13:2:ok", ":Neg:11:1:ok",
                                              ":Frobnicate:13:1:not implemented",
                                              ":Upsample:13:1:ok", ":Constant:13:1:ok"}));
  EXPECT_EQ(lines.size(), 6u);
  std::remove(path.c_str());
  EXPECT_EQ(ListOperators(path, OpRegistry::Global()).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace inferd::engine
