// Model-local functions are inlined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string FunctionText(absl::string_view name, absl::string_view body) {
  return absl::StrCat("functions { name: \"", name,
                      "\" domain: \"my\" opset_import { version: 13 } "
                      "opset_import { domain: \"my\" version: 1 } ",
                      body, " }\n");
}

std::string Call(absl::string_view name, absl::string_view inputs, absl::string_view outputs,
                 absl::string_view more = "") {
  return NodeText(name, inputs, outputs, absl::StrCat("domain: \"my\" ", more));
}

std::string Reference(absl::string_view name, absl::string_view to, absl::string_view type) {
  return absl::StrCat(" attribute { name: \"", name, "\" type: ", type, " ref_attr_name: \"", to,
                      "\" }");
}

const char kMy[] = "opset_import { domain: \"my\" version: 1 } ";

TEST(FunctionTest, CallsBecomeTheBody) {
  const std::string twice =
      FunctionText("Twice", "input: \"a\" output: \"b\" " + NodeText("Neg", "a", "t") +
                                NodeText("Abs", "t", "b", "name: \"abs\""));
  auto model =
      ImportText(ModelText(13,
                           FloatInput("x", "2") + Call("Twice", "x", "h", "name: \"first\"") +
                               Call("Twice", "h", "y") + OutputText("y"),
                           kMy + twice));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(OpsOf(*model->graph), "Neg Abs Neg Abs");
  EXPECT_EQ(model->graph->nodes()[1]->name(), "first/abs");
  EXPECT_EQ(model->graph->nodes()[1]->output(0)->name(), "h");
  EXPECT_EQ(model->graph->nodes()[0]->output(0)->name(), "first/t");
  EXPECT_EQ(model->graph->outputs()[0]->name(), "y");
  EXPECT_THAT(model->opsets, UnorderedElementsAre(Pair("", 13)));
}

TEST(FunctionTest, AttributesArePassedThroughNestedCalls) {
  const std::string inner = FunctionText(
      "Inner", "input: \"a\" output: \"b\" attribute: \"slope\" " +
                   NodeText("LeakyRelu", "a", "b", Reference("alpha", "slope", "FLOAT")));
  const std::string outer =
      FunctionText("Outer", "input: \"a\" output: \"b\" attribute: \"s\" " +
                                Call("Inner", "a", "b", Reference("slope", "s", "FLOAT")));
  auto model = ImportText(ModelText(13,
                                    FloatInput("x", "2") +
                                        Call("Outer", "x", "y", FloatAttribute("s", 0.25f)) +
                                        Call("Outer", "y", "z") + OutputText("z"),
                                    kMy + inner + outer));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(OpsOf(*model->graph), "LeakyRelu LeakyRelu");
  EXPECT_EQ(model->graph->nodes()[0]->attributes().GetFloat("alpha", -1), 0.25f);
  // Left out by the caller: left out in the body.
  EXPECT_FALSE(model->graph->nodes()[1]->attributes().has("alpha"));
}

TEST(FunctionTest, DefaultAttributesOfNewerFormats) {
  // FunctionProto.attribute_proto has number 11, which the installed onnx.proto does not know.
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(ModelBytes(ModelText(
      13,
      FloatInput("x", "2") + Call("F", "x", "h") +
          Call("F", "h", "y", FloatAttribute("slope", 0.5f)) + OutputText("y"),
      kMy + FunctionText(
                "F", "input: \"a\" output: \"b\" " +
                         NodeText("LeakyRelu", "a", "b", Reference("alpha", "slope", "FLOAT")))))));
  onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(onnx::AttributeProto::FLOAT);
  slope.set_f(0.125f);
  model.mutable_functions(0)->mutable_unknown_fields()->AddLengthDelimited(
      11, slope.SerializeAsString());
  auto imported = ImportOnnxBytes(model.SerializeAsString(), "", OpRegistry::Global());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph->nodes()[0]->attributes().GetFloat("alpha", -1), 0.125f);
  EXPECT_EQ(imported->graph->nodes()[1]->attributes().GetFloat("alpha", -1), 0.5f);
}

TEST(FunctionTest, OverloadsAreToldApart) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(ModelBytes(ModelText(
      13, FloatInput("x", "2") + Call("F", "x", "h") + Call("F", "h", "y") + OutputText("y"),
      kMy + FunctionText("F", "input: \"a\" output: \"b\" " + NodeText("Neg", "a", "b")) +
          FunctionText("F", "input: \"a\" output: \"b\" " + NodeText("Abs", "a", "b"))))));
  model.mutable_functions(1)->mutable_unknown_fields()->AddLengthDelimited(13, "other");
  model.mutable_graph()->mutable_node(1)->mutable_unknown_fields()->AddLengthDelimited(8, "other");
  auto imported = ImportOnnxBytes(model.SerializeAsString(), "", OpRegistry::Global());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(OpsOf(*imported->graph), "Neg Abs");
}

TEST(FunctionTest, AFunctionKeepsItsOwnOpset) {
  // Squeeze takes its axes as an attribute before opset 13.
  const std::string old =
      "functions { name: \"Old\" domain: \"my\" opset_import { version: 11 } input: \"a\" output: "
      "\"b\" " +
      NodeText("Squeeze", "a", "b", IntsAttribute("axes", {0})) + " }";
  auto model = ImportText(
      ModelText(17, FloatInput("x", "1,2") + Call("Old", "x", "y") + OutputText("y"), kMy + old));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->outputs()[0]->type().ToString(), "float[2]");
}

TEST(FunctionTest, LeftOutInputsAreAbsentInTheBody) {
  const std::string clip =
      FunctionText("MyClip", "input: \"a\" input: \"lo\" input: \"hi\" output: \"b\" " +
                                 NodeText("Clip", "a,lo,hi", "b"));
  auto model = ImportText(ModelText(13,
                                    FloatInput("x", "2") + FloatsText("one", "", {1}) +
                                        Call("MyClip", "x,_,one", "h") + Call("MyClip", "h", "y") +
                                        OutputText("y"),
                                    kMy + clip));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->nodes()[0]->num_inputs(), 3);
  EXPECT_EQ(model->graph->nodes()[0]->input(1), nullptr);
  EXPECT_EQ(model->graph->nodes()[1]->num_inputs(), 1);
}

TEST(FunctionTest, AFunctionOverridesAnOperatorOfItsName) {
  const std::string relu =
      "functions { name: \"Relu\" opset_import { version: 13 } input: \"a\" output: \"b\" " +
      NodeText("Neg", "a", "b") + " }";
  auto model = ImportText(
      ModelText(13, FloatInput("x", "2") + NodeText("Relu", "x", "y") + OutputText("y"), relu));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(OpsOf(*model->graph), "Neg");
}

TEST(FunctionTest, ConstantsOfABodyAreShared) {
  const std::string f = FunctionText(
      "F",
      "input: \"a\" output: \"b\" " +
          NodeText("Constant", "", "c",
                   "attribute { name: \"value\" type: TENSOR t { data_type: 1 float_data: 1 } }") +
          NodeText("Add", "a,c", "b"));
  auto model = ImportText(ModelText(
      13, FloatInput("x", "2") + Call("F", "x", "h") + Call("F", "h", "y") + OutputText("y"),
      kMy + f));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->nodes()[0]->input(1)->constant().view().data,
            model->graph->nodes()[1]->input(1)->constant().view().data);
}

void ExpectRefused(const std::string& text, const std::string& message) {
  auto model = ImportText(text);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(model.status().message()), HasSubstr(message));
}

TEST(FunctionTest, RefusesBrokenFunctions) {
  const std::string graph = FloatInput("x", "2") + Call("F", "x", "y") + OutputText("y");
  auto model = [&](const std::string& functions) { return ModelText(13, graph, kMy + functions); };
  ExpectRefused(model(FunctionText("F", "input: \"a\" output: \"b\" " + Call("F", "a", "b"))),
                "calls itself");
  ExpectRefused(model(FunctionText("F", "input: \"a\" output: \"b\" " + Call("G", "a", "b")) +
                      FunctionText("G", "input: \"a\" output: \"b\" " + Call("F", "a", "b"))),
                "calls itself");
  ExpectRefused(model(FunctionText("F", "output: \"b\" " + NodeText("Neg", "a", "b"))),
                "the call has 1 inputs");
  ExpectRefused(model(FunctionText("F", "input: \"a\" output: \"b\" " + NodeText("Neg", "a", "c"))),
                "does not produce its output \"b\"");
  ExpectRefused(model(FunctionText("F", "input: \"a\" output: \"b\" " + NodeText("Neg", "x", "b"))),
                "input \"x\" is produced by no node");
  ExpectRefused(model(FunctionText("F", "input: \"a\" output: \"b\" " + NodeText("Neg", "a", "b")) +
                      FunctionText("F", "input: \"a\" output: \"b\" " + NodeText("Neg", "a", "b"))),
                "is defined twice");
}

TEST(FunctionTest, ExponentialNestingIsBounded) {
  std::string functions =
      FunctionText("F0", "input: \"a\" output: \"b\" " + NodeText("Neg", "a", "b"));
  for (int i = 1; i <= 40; ++i) {
    const std::string callee = absl::StrCat("F", i - 1);
    functions +=
        FunctionText(absl::StrCat("F", i), "input: \"a\" output: \"b\" " + Call(callee, "a", "t") +
                                               Call(callee, "t", "b"));
  }
  ExpectRefused(ModelText(13, FloatInput("x", "2") + Call("F40", "x", "y") + OutputText("y"),
                          kMy + functions),
                "too many nodes");
}

TEST(FunctionTest, DeepNestingIsBounded) {
  std::string functions =
      FunctionText("F0", "input: \"a\" output: \"b\" " + NodeText("Neg", "a", "b"));
  for (int i = 1; i <= 1000; ++i) {
    functions += FunctionText(absl::StrCat("F", i), "input: \"a\" output: \"b\" " +
                                                        Call(absl::StrCat("F", i - 1), "a", "b"));
  }
  ExpectRefused(ModelText(13, FloatInput("x", "2") + Call("F1000", "x", "y") + OutputText("y"),
                          kMy + functions),
                "levels deep");
}

}  // namespace
}  // namespace inferd::engine
