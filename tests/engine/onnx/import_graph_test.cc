// Graphs: initializers, constants, names, order, subgraphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(ImportGraphTest, InputsNodesAndOutputs) {
  auto model = ImportText(ModelText(13, FloatInput("x", "N,3,?") + NodeText("Relu", "x", "h") +
                                            NodeText("Neg", "h", "y") + OutputText("y")));
  ASSERT_TRUE(model.ok()) << model.status();
  const Graph& graph = *model->graph;
  EXPECT_EQ(OpsOf(graph), "Relu Neg");
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0]->type().ToString(), "float[N,3,?]");
  EXPECT_EQ(graph.output_name(0), "y");
  EXPECT_EQ(graph.outputs()[0]->type().ToString(), "float[N,3,?]");
  EXPECT_THAT(model->opsets, ElementsAre(Pair("", 13)));
  EXPECT_EQ(model->ir_version, 8);
  EXPECT_THAT(model->notes, IsEmpty());
}

TEST(ImportGraphTest, UnnamedNodesAreNamedByTheirOutput) {
  auto model =
      ImportText(ModelText(13, FloatInput("x", "2") + NodeText("Relu", "x", "h") +
                                   NodeText("Neg", "h", "y", "name: \"minus\"") + OutputText("y")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->nodes()[0]->display_name(), "Relu#0 (output \"h\")");
  EXPECT_EQ(model->graph->nodes()[1]->display_name(), "minus (Neg)");
}

TEST(ImportGraphTest, InitializersThatAreInputsAreConstantsUnlessFed) {
  const std::string text =
      ModelText(13, FloatInput("w", "N") + FloatInput("x", "2") + FloatsText("w", "2", {1, 2}) +
                        NodeText("Add", "x,w", "y") + OutputText("y"));
  auto model = ImportText(text);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->inputs().size(), 1u);
  ASSERT_EQ(model->optional_inputs.size(), 1u);
  EXPECT_EQ(model->optional_inputs[0].name, "w");
  EXPECT_EQ(model->optional_inputs[0].type.ToString(), "float[N]");
  EXPECT_EQ(model->optional_inputs[0].position, 0);
  EXPECT_THAT(model->notes,
              ElementsAre(HasSubstr("1 input has a default and may be left out: w.")));
  EXPECT_TRUE(model->graph->nodes()[0]->input(1)->is_constant());

  auto fed = ImportOnnxBytes(ModelBytes(text), "", OpRegistry::Global(),
                             {.survey = nullptr, .fed = {"w"}});
  ASSERT_TRUE(fed.ok()) << fed.status();
  ASSERT_EQ(fed->graph->inputs().size(), 2u);
  EXPECT_EQ(fed->graph->inputs()[0]->name(), "w");
  EXPECT_FALSE(fed->graph->nodes()[0]->input(1)->is_constant());
  EXPECT_TRUE(fed->optional_inputs.empty());
}

TEST(ImportGraphTest, BeforeIrVersion4EveryInitializerIsListedAsAnInput) {
  std::string text =
      ModelText(7, FloatInput("x", "2") + FloatInput("w", "2") + FloatsText("w", "2", {1, 2}) +
                       NodeText("Add", "x,w", "y") + OutputText("y"));
  text.replace(text.find("ir_version: 8"), 13, "ir_version: 3");
  auto model = ImportText(text);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->optional_inputs.empty());
  EXPECT_EQ(model->graph->inputs().size(), 1u);
  EXPECT_THAT(model->notes, ElementsAre(HasSubstr("as files of IR version 3 write them")));
}

TEST(ImportGraphTest, ARepeatedInitializerCountsOnce) {
  auto model = ImportText(ModelText(13, FloatInput("x", "1") + FloatsText("w", "1", {1}) +
                                            FloatsText("w", "1", {2}) +
                                            NodeText("Add", "x,w", "y") + OutputText("y")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->nodes()[0]->input(1)->constant().data<float>()[0], 2.0f);
  EXPECT_THAT(model->notes, ElementsAre(HasSubstr("\"w\" is defined more than once")));
}

TEST(ImportGraphTest, SparseInitializersAreDense) {
  auto model = ImportText(ModelText(
      13,
      FloatInput("x", "3") +
          "sparse_initializer { dims: 3 values { name: \"w\" data_type: 1 dims: 1 float_data: 4 }"
          " indices { data_type: 7 dims: 1 int64_data: 1 } }" +
          NodeText("Add", "x,w", "y") + OutputText("y")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(model->graph->nodes()[0]->input(1)->constant().values<float>(), ElementsAre(0, 4, 0));
}

struct ConstantForm {
  const char* name;
  const char* attribute;
  const char* type;  // as printed
};

class ConstantTest : public ::testing::TestWithParam<ConstantForm> {};

TEST_P(ConstantTest, BecomesAConstantOfTheGraph) {
  auto model = ImportText(ModelText(
      13, NodeText("Constant", "", "c", absl::StrCat("attribute { ", GetParam().attribute, " }")) +
              OutputText("c")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(OpsOf(*model->graph), IsEmpty());
  ASSERT_TRUE(model->graph->outputs()[0]->is_constant());
  EXPECT_EQ(model->graph->outputs()[0]->type().ToString(), GetParam().type);
  EXPECT_EQ(model->graph->output_name(0), "c");
}

INSTANTIATE_TEST_SUITE_P(
    All, ConstantTest,
    ::testing::Values(
        ConstantForm{"Tensor", "name: \"value\" type: TENSOR t { data_type: 1 float_data: 1 }",
                     "float[]"},
        ConstantForm{"Untyped", "name: \"value\" t { data_type: 7 dims: 1 int64_data: 1 }",
                     "int64[1]"},
        ConstantForm{"Sparse",
                     "name: \"sparse_value\" type: SPARSE_TENSOR sparse_tensor { dims: 4 values { "
                     "data_type: 1 dims: 1 float_data: 1 } indices { data_type: 7 dims: 1 "
                     "int64_data: 2 } }",
                     "float[4]"},
        ConstantForm{"Int", "name: \"value_int\" type: INT i: 3", "int64[]"},
        ConstantForm{"Ints", "name: \"value_ints\" type: INTS ints: [1, 2]", "int64[2]"},
        ConstantForm{"Float", "name: \"value_float\" type: FLOAT f: 1", "float[]"},
        ConstantForm{"Floats", "name: \"value_floats\" type: FLOATS floats: [1, 2, 3]", "float[3]"},
        ConstantForm{"String", "name: \"value_string\" type: STRING s: \"a\"", "string[]"},
        ConstantForm{"Strings", "name: \"value_strings\" type: STRINGS strings: \"a\"",
                     "string[1]"}),
    [](const auto& tested) { return tested.param.name; });

TEST(ImportGraphTest, OfRepeatedConstantsTheLastCounts) {
  auto model = ImportText(ModelText(
      13, FloatInput("x", "1") + NodeText("Constant", "", "c", FloatAttribute("value_float", 1)) +
              NodeText("Add", "x,c", "y") +
              NodeText("Constant", "", "c", FloatAttribute("value_float", 2)) + OutputText("y")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->nodes()[0]->input(1)->constant().data<float>()[0], 2.0f);
  EXPECT_THAT(model->notes, ElementsAre(HasSubstr("1 Constant nodes define a name again")));
}

TEST(ImportGraphTest, AbsentOptionalInputsAreNull) {
  auto model = ImportText(ModelText(13, FloatInput("x", "2") + FloatsText("hi", "", {1}) +
                                            NodeText("Clip", "x,_,hi", "y") +
                                            NodeText("Clip", "y,_,_", "z") + OutputText("z")));
  ASSERT_TRUE(model.ok()) << model.status();
  const Node& clip = *model->graph->nodes()[0];
  EXPECT_EQ(clip.input(1), nullptr);
  EXPECT_NE(clip.input(2), nullptr);
  EXPECT_EQ(model->graph->nodes()[1]->num_inputs(), 1);
}

TEST(ImportGraphTest, NodesOutOfOrderAreSorted) {
  auto model = ImportText(ModelText(13, FloatInput("x", "2") + NodeText("Neg", "b", "y") +
                                            NodeText("Abs", "a", "b") + NodeText("Relu", "x", "a") +
                                            OutputText("y")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(OpsOf(*model->graph), "Relu Abs Neg");
}

TEST(ImportGraphTest, DuplicateNodeNamesAreFine) {
  auto model =
      ImportText(ModelText(13, FloatInput("x", "2") + NodeText("Relu", "x", "a", "name: \"n\"") +
                                   NodeText("Relu", "a", "b", "name: \"n\"") + OutputText("b")));
  EXPECT_TRUE(model.ok()) << model.status();
}

TEST(ImportGraphTest, InputsAndInitializersMayBeOutputs) {
  auto model = ImportText(ModelText(13, FloatInput("x", "2") + FloatsText("w", "1", {3}) +
                                            OutputText("x") + OutputText("w") + OutputText("x")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->outputs().size(), 3u);
  EXPECT_EQ(model->graph->output_name(2), "x");
}

TEST(ImportGraphTest, UnknownShapesAndNegativeOnes) {
  auto model =
      ImportText(ModelText(13, FloatInput("x", "...") + FloatInput("z", "-1,2") +
                                   NodeText("Relu", "x", "y") + OutputText("y") + OutputText("z")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(model->graph->inputs()[0]->type().shape.has_rank());
  EXPECT_EQ(model->graph->inputs()[1]->type().ToString(), "float[?,2]");
}

TEST(ImportGraphTest, ValueInfoIsNotBelieved) {
  auto model = ImportText(ModelText(
      13, FloatInput("x", "2") + NodeText("Relu", "x", "h") + NodeText("Neg", "h", "y") +
              "value_info { name: \"h\" type { tensor_type { elem_type: 7 shape { dim { dim_value: "
              "9 } } } } }" +
              OutputText("y")));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->outputs()[0]->type().ToString(), "float[2]");
}

TEST(ImportGraphTest, UnusedDomainsAreIgnored) {
  auto model =
      ImportText(ModelText(13, FloatInput("x", "2") + NodeText("Relu", "x", "y") + OutputText("y"),
                           "opset_import { domain: \"com.example\" version: 99 }"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(model->opsets, ElementsAre(Pair("", 13)));
}

TEST(ImportGraphTest, TheTwoNamesOfTheStandardDomainAreOne) {
  auto model =
      ImportText("ir_version: 8 opset_import { domain: \"ai.onnx\" version: 13 } graph { " +
                 FloatInput("x", "2") + NodeText("Relu", "x", "h", "domain: \"ai.onnx\"") +
                 NodeText("Neg", "h", "y") + OutputText("y") + "}");
  EXPECT_TRUE(model.ok()) << model.status();
}

TEST(ImportGraphTest, NewerVersionsAreNoted) {
  auto model = ImportText(
      "ir_version: 99 producer_name: \"maker\" producer_version: \"2.0\" opset_import { version: "
      "99 } graph { " +
      FloatInput("x", "2") + NodeText("Relu", "x", "y") + OutputText("y") + "}");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(model->notes, ElementsAre(HasSubstr("IR version 99"), HasSubstr("opset 99")));
  EXPECT_EQ(model->producer, "maker 2.0");
}

TEST(ImportGraphTest, BeforeIrVersion3TheOpsetIsOne) {
  auto model = ImportText("ir_version: 2 graph { " + FloatInput("x", "2,3") +
                          NodeText("Concat", "x,x", "y") + OutputText("y") + "}");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->graph->outputs()[0]->type().ToString(), "float[2,6]");
}

TEST(ImportGraphTest, FieldsOfNewerFormatsAreIgnored) {
  // Field 60000 of the model and field 10 of the node (device_configurations) are not known to
  // the installed onnx.proto.
  std::string bytes = ModelBytes(
      ModelText(13, FloatInput("x", "2") + NodeText("Relu", "x", "y") + OutputText("y")));
  bytes += std::string("\x82\xa6\x1d\x03\x61\x62\x63", 7);
  EXPECT_TRUE(ImportOnnxBytes(bytes, "", OpRegistry::Global()).ok());
}

// Few operators, and one with bodies.
const OpRegistry& RegistryWithBranch() {
  static const OpRegistry* const registry = [] {
    auto* r = new OpRegistry;
    RegisterElementwiseBinaryOps(*r);
    RegisterElementwiseUnaryOps(*r);
    RegisterActivationOps(*r);
    RegisterIfOps(*r);
    return r;
  }();
  return *registry;
}

std::string Branch(absl::string_view name, absl::string_view body) {
  return absl::StrCat(" attribute { name: \"", name, "\" type: GRAPH g { name: \"", name, "\" ",
                      body, " } }");
}

TEST(ImportGraphTest, SubgraphsCaptureOuterValues) {
  // The inner If captures x through two levels; w is a constant and is shared; the node that
  // computes h stands after the If that reads it only inside a body.
  const std::string inner = Branch("then_branch", NodeText("Add", "x,w", "t") + OutputText("t")) +
                            Branch("else_branch", OutputText("h"));
  const std::string outer =
      Branch("then_branch", NodeText("If", "c", "r", inner) + OutputText("r")) +
      Branch("else_branch", NodeText("Neg", "x", "x_neg") + OutputText("x_neg"));
  auto model =
      ImportText(ModelText(16, InputText("c", 9, "") + FloatInput("x", "2") +
                                   FloatsText("w", "1", {5}) + NodeText("If", "c", "y", outer) +
                                   NodeText("Relu", "x", "h") + OutputText("y")),
                 RegistryWithBranch());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(OpsOf(*model->graph), "Relu If");
  const auto* then_graph =
      model->graph->nodes()[1]->attributes().Get<std::shared_ptr<Graph>>("then_branch");
  ASSERT_NE(then_graph, nullptr);
  EXPECT_EQ(OpsOf(**then_graph), "If");
  // The captured values are inputs of the node and, in the same order, of both its bodies.
  const Node& outer_if = *model->graph->nodes()[1];
  EXPECT_EQ(outer_if.attributes().GetInt("captures", 0), 3);
  std::vector<std::string> given, received;
  for (int i = 1; i < outer_if.num_inputs(); ++i) given.push_back(outer_if.input(i)->name());
  for (const Value* v : (*then_graph)->inputs()) received.push_back(v->name());
  EXPECT_THAT(given, ::testing::UnorderedElementsAre("c", "x", "h"));
  EXPECT_EQ(given, received);
  EXPECT_TRUE((*then_graph)->captures().empty());
  const auto* inner_graph =
      (*then_graph)->nodes()[0]->attributes().Get<std::shared_ptr<Graph>>("then_branch");
  ASSERT_NE(inner_graph, nullptr);
  const Node& add = *(*inner_graph)->nodes()[0];
  EXPECT_EQ(add.input(0)->name(), "x");
  EXPECT_TRUE(add.input(0)->is_graph_input());
  EXPECT_TRUE(add.input(1)->is_constant());
  EXPECT_EQ(add.output(0)->type().ToString(), "float[2]");
}

TEST(ImportGraphTest, ASubgraphMayReuseOuterNames) {
  const std::string bodies = Branch("then_branch", NodeText("Neg", "x", "y") + OutputText("y")) +
                             Branch("else_branch", NodeText("Abs", "x", "y") + OutputText("y"));
  auto model = ImportText(ModelText(16, InputText("c", 9, "") + FloatInput("x", "2") +
                                            NodeText("If", "c", "y", bodies) + OutputText("y")),
                          RegistryWithBranch());
  EXPECT_TRUE(model.ok()) << model.status();
}

TEST(ImportFileTest, ReadsExternalDataBesideTheModel) {
  const std::string dir = ::testing::TempDir();
  const std::string path = absl::StrCat(dir, "/import_graph_test.onnx");
  const std::string data = absl::StrCat(dir, "/import_graph_test.bin");
  const float values[] = {7, 8};
  std::ofstream(data, std::ios::binary).write(reinterpret_cast<const char*>(values), 8);
  std::ofstream(path, std::ios::binary) << ModelBytes(ModelText(
      13,
      FloatInput("x", "2") +
          "initializer { name: \"w\" data_type: 1 dims: 2 data_location: EXTERNAL external_data "
          "{ key: \"location\" value: \"import_graph_test.bin\" } }" +
          NodeText("Add", "x,w", "y") + OutputText("y")));
  auto model = ImportOnnxFile(path, OpRegistry::Global());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(model->graph->nodes()[0]->input(1)->constant().values<float>(), ElementsAre(7, 8));

  std::ofstream(path, std::ios::binary) << "";
  auto empty = ImportOnnxFile(path, OpRegistry::Global());
  EXPECT_EQ(empty.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(empty.status().message()), HasSubstr(path));
  EXPECT_THAT(std::string(empty.status().message()), HasSubstr("it is empty"));
  std::remove(path.c_str());
  std::remove(data.c_str());
  EXPECT_EQ(ImportOnnxFile(path, OpRegistry::Global()).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ImportOnnxFile(dir, OpRegistry::Global()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace inferd::engine
