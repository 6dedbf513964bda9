// Nodes of old opsets become the internal form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/rules.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model of one node; keeps the import alive.
class OpsetRulesTest : public ::testing::Test {
 protected:
  // `inputs` declares them; the node's outputs are the model's.
  void Import(int opset, const std::string& inputs, const std::string& node,
              const std::string& outputs = OutputText("y")) {
    auto imported = ImportText(ModelText(opset, inputs + node + outputs));
    ASSERT_TRUE(imported.ok()) << imported.status();
    model_ = *std::move(imported);
  }
  void ExpectError(int opset, const std::string& inputs, const std::string& node,
                   const std::string& message, const std::string& outputs = OutputText("y")) {
    auto imported = ImportText(ModelText(opset, inputs + node + outputs));
    ASSERT_FALSE(imported.ok()) << node;
    EXPECT_THAT(std::string(imported.status().message()), HasSubstr(message));
  }
  const Node& last() const { return *model_.graph->nodes().back(); }
  const Node& node(int i) const { return *model_.graph->nodes()[i]; }
  std::string ops() const { return OpsOf(*model_.graph); }
  std::string type() const { return model_.graph->outputs()[0]->type().ToString(); }
  static std::vector<int64_t> Ints(const Value* value) {
    return *ToInt64Vector(value->constant().view());
  }

  ImportedModel model_;
};

TEST_F(OpsetRulesTest, TableIsConsistent) {
  EXPECT_NE(FindRule("", "Softmax", 1), nullptr);
  EXPECT_EQ(FindRule("", "Softmax", 11), FindRule("", "Softmax", 12));
  EXPECT_EQ(FindRule("", "Softmax", 13), nullptr);
  EXPECT_EQ(FindRule("", "Softmax", 27), nullptr);
  EXPECT_EQ(FindRule("", "NoSuchOperator", 1), nullptr);
  EXPECT_EQ(FindRule("com.example", "Softmax", 1), nullptr);
  EXPECT_EQ(FindRule("", "Upsample", 1)->since, 1);
  EXPECT_EQ(FindRule("", "Upsample", 8)->since, 7);
  EXPECT_EQ(FindRule("", "Upsample", 13)->since, 9);
}

TEST_F(OpsetRulesTest, ConsumedInputsAreDropped) {
  Import(1, FloatInput("x", "2"),
         NodeText("Relu", "x", "y", IntsAttribute("consumed_inputs", {0})));
  EXPECT_TRUE(last().attributes().empty());
  ExpectError(6, FloatInput("x", "2"),
              NodeText("Relu", "x", "y", IntsAttribute("consumed_inputs", {0})),
              "unknown attribute 'consumed_inputs'");
}

TEST_F(OpsetRulesTest, BroadcastAxisUnsqueezesB) {
  Import(6, FloatInput("a", "2,3,4,5") + FloatInput("b", "3,4"),
         NodeText("Add", "a,b", "y", IntAttribute("broadcast", 1) + IntAttribute("axis", 1)));
  EXPECT_EQ(ops(), "Unsqueeze Add");
  EXPECT_THAT(Ints(node(0).input(1)), ElementsAre(2));
  EXPECT_EQ(type(), "float[2,3,4,5]");
  // Counted from the end.
  Import(6, FloatInput("a", "2,3,4,5") + FloatInput("b", "4"),
         NodeText("Mul", "a,b", "y", IntAttribute("broadcast", 1) + IntAttribute("axis", -2)));
  EXPECT_EQ(ops(), "Unsqueeze Mul");
  // Without an axis dimensions match from the end, as now.
  Import(6, FloatInput("a", "2,3") + FloatInput("b", "3"),
         NodeText("Sub", "a,b", "y", IntAttribute("broadcast", 1)));
  EXPECT_EQ(ops(), "Sub");
  Import(6, FloatInput("a", "2,3") + FloatInput("b", "2,3"), NodeText("Div", "a,b", "y"));
  EXPECT_EQ(ops(), "Div");
  ExpectError(6, FloatInput("a", "2,3") + FloatInput("b", "3,4"),
              NodeText("Add", "a,b", "y", IntAttribute("broadcast", 1) + IntAttribute("axis", 1)),
              "leaves no room");
  for (const char* rank : {"2,3", "..."}) {
    ExpectError(6, FloatInput("a", rank) + FloatInput("b", "3"),
                NodeText("Add", "a,b", "y",
                         IntAttribute("broadcast", 1) + IntAttribute("axis", -2147483648)),
                "axis -2147483648 is out of range");
  }
  ExpectError(7, FloatInput("a", "2,3") + FloatInput("b", "3"),
              NodeText("Add", "a,b", "y", IntAttribute("broadcast", 1)),
              "unknown attribute 'broadcast'");
}

TEST_F(OpsetRulesTest, BroadcastAxisOfUnknownRankIsComputedAtRun) {
  Import(6, FloatInput("a", "...") + FloatInput("b", "3"),
         NodeText("Add", "a,b", "y", IntAttribute("broadcast", 1) + IntAttribute("axis", 1)));
  EXPECT_EQ(last().op().name, "Add");
  EXPECT_EQ(last().input(1)->producer()->op().name, "Reshape");
}

TEST_F(OpsetRulesTest, ClipBoundsAreInputsOfTheInputsType) {
  Import(6, FloatInput("x", "2"), NodeText("Clip", "x", "y", FloatAttribute("max", 6)));
  EXPECT_EQ(last().input(1), nullptr);
  EXPECT_EQ(last().input(2)->constant().data<float>()[0], 6.0f);
  Import(6, InputText("x", 11, "2"), NodeText("Clip", "x", "y", FloatAttribute("min", -1)));
  EXPECT_EQ(last().input(1)->constant().data<double>()[0], -1.0);
  Import(6, InputText("x", 10, "2"), NodeText("Clip", "x", "y", FloatAttribute("min", -1)));
  EXPECT_EQ(last().input(1)->constant().type(), ElementType::kFloat16);
}

TEST_F(OpsetRulesTest, Dropout) {
  const std::string outputs = OutputText("y") + OutputText("m");
  Import(7, FloatInput("x", "2"), NodeText("Dropout", "x", "y,m", FloatAttribute("ratio", 0.25f)),
         outputs);
  EXPECT_EQ(ops(), "Dropout Cast");
  EXPECT_EQ(node(0).input(1)->constant().data<float>()[0], 0.25f);
  EXPECT_EQ(model_.graph->outputs()[1]->type().ToString(), "float[2]");
  Import(7, FloatInput("x", "2"), NodeText("Dropout", "x", "y,m"));
  EXPECT_EQ(ops(), "Dropout");
  EXPECT_EQ(node(0).num_outputs(), 1);
  Import(10, FloatInput("x", "2"), NodeText("Dropout", "x", "y,m"), outputs);
  EXPECT_EQ(model_.graph->outputs()[1]->type().ToString(), "bool[2]");
  Import(6, FloatInput("x", "2"), NodeText("Dropout", "x", "y", IntAttribute("is_test", 1)));
  EXPECT_TRUE(model_.notes.empty());
  Import(6, FloatInput("x", "2"), NodeText("Dropout", "x", "y"));
  EXPECT_THAT(model_.notes, ElementsAre(HasSubstr("is_test")));
}

const std::string BatchNormInputs(const std::string& shape) {
  std::string text = FloatInput("x", "2," + shape);
  for (const char* name : {"s", "b", "m", "v"}) text += FloatInput(name, shape.substr(0, 1));
  return text;
}

TEST_F(OpsetRulesTest, BatchNormalization) {
  const std::string inputs = BatchNormInputs("3,4");
  Import(6, inputs, NodeText("BatchNormalization", "x,s,b,m,v", "y", IntAttribute("is_test", 1)));
  EXPECT_EQ(ops(), "BatchNormalization");
  EXPECT_FALSE(last().attributes().has("is_test"));
  Import(7, inputs, NodeText("BatchNormalization", "x,s,b,m,v", "y,m1,v1,m2,v2"));
  EXPECT_EQ(last().num_outputs(), 1);
  ExpectError(7, inputs, NodeText("BatchNormalization", "x,s,b,m,v", "y,m1"),
              "belongs to training mode", OutputText("y") + OutputText("m1"));
  Import(15, inputs, NodeText("BatchNormalization", "x,s,b,m,v", "y,m1,v1"));
  EXPECT_EQ(last().num_outputs(), 1);
  ExpectError(15, inputs, NodeText("BatchNormalization", "x,s,b,m,v", "y,m1,v1"),
              "exists only with training_mode", OutputText("m1"));
}

TEST_F(OpsetRulesTest, BatchNormalizationOfEveryElement) {
  std::string inputs = FloatInput("x", "2,3,4");
  for (const char* name : {"s", "b", "m", "v"}) inputs += FloatInput(name, "3,4");
  Import(7, inputs, NodeText("BatchNormalization", "x,s,b,m,v", "y", IntAttribute("spatial", 0)));
  EXPECT_EQ(ops(), "Add Sub Sqrt Div Mul Add");
  EXPECT_EQ(type(), "float[2,3,4]");
}

TEST_F(OpsetRulesTest, SoftmaxOverFlattenedInput) {
  Import(11, FloatInput("x", "2,3,4"), NodeText("Softmax", "x", "y"));
  EXPECT_EQ(ops(), "Flatten Softmax Reshape");
  EXPECT_EQ(type(), "float[2,3,4]");
  Import(11, FloatInput("x", "N,3,4"), NodeText("Softmax", "x", "y"));
  EXPECT_EQ(ops(), "Flatten Softmax Reshape");
  EXPECT_EQ(type(), "float[N,3,4]");
  Import(11, FloatInput("x", "N,?,4"), NodeText("Softmax", "x", "y"));
  EXPECT_EQ(ops(), "Flatten Softmax Shape Reshape");
  Import(11, FloatInput("x", "2,3,4"), NodeText("LogSoftmax", "x", "y", IntAttribute("axis", -2)));
  EXPECT_EQ(ops(), "Flatten LogSoftmax Reshape");
  EXPECT_EQ(node(0).attributes().GetInt("axis", 99), 1);
  // The last axis alone: the same as now.
  Import(11, FloatInput("x", "2,3"), NodeText("Hardmax", "x", "y"));
  EXPECT_EQ(ops(), "Hardmax");
  EXPECT_EQ(last().attributes().GetInt("axis", 99), -1);
  Import(11, FloatInput("x", "N,3,?"), NodeText("Softmax", "x", "y", IntAttribute("axis", 2)));
  EXPECT_EQ(ops(), "Softmax");
  Import(1, FloatInput("x", "..."), NodeText("Softmax", "x", "y"));
  EXPECT_EQ(ops(), "Flatten Softmax Shape Reshape");
  Import(13, FloatInput("x", "2,3,4"), NodeText("Softmax", "x", "y", IntAttribute("axis", 1)));
  EXPECT_EQ(ops(), "Softmax");
  ExpectError(11, FloatInput("x", "2,3"), NodeText("Softmax", "x", "y", IntAttribute("axis", 5)),
              "out of range");
}

TEST_F(OpsetRulesTest, AxesBecomeInputs) {
  Import(11, FloatInput("x", "2,1,4"), NodeText("Squeeze", "x", "y", IntsAttribute("axes", {1})));
  EXPECT_THAT(Ints(last().input(1)), ElementsAre(1));
  EXPECT_EQ(type(), "float[2,4]");
  Import(11, FloatInput("x", "2,1,4"), NodeText("Squeeze", "x", "y"));
  EXPECT_EQ(last().num_inputs(), 1);
  Import(1, FloatInput("x", "2"), NodeText("Unsqueeze", "x", "y", IntsAttribute("axes", {0, 2})));
  EXPECT_EQ(type(), "float[1,2,1]");
  ExpectError(1, FloatInput("x", "2"), NodeText("Unsqueeze", "x", "y"), "\"axes\" is missing");
  Import(
      13, FloatInput("x", "2,3"),
      NodeText("ReduceMean", "x", "y", IntsAttribute("axes", {-1}) + IntAttribute("keepdims", 0)));
  EXPECT_EQ(type(), "float[2]");
  Import(11, FloatInput("x", "2,3"), NodeText("ReduceSum", "x", "y", IntsAttribute("axes", {0})));
  EXPECT_EQ(type(), "float[1,3]");
  ExpectError(13, FloatInput("x", "2,3"),
              NodeText("ReduceSum", "x", "y", IntsAttribute("axes", {0})),
              "unknown attribute 'axes'");
}

TEST_F(OpsetRulesTest, Movement) {
  Import(1, FloatInput("x", "2,6"), NodeText("Reshape", "x", "y", IntsAttribute("shape", {3, -1})));
  EXPECT_EQ(type(), "float[3,4]");
  Import(3, FloatInput("x", "2,3"), NodeText("Concat", "x,x", "y"));
  EXPECT_EQ(type(), "float[2,6]");
  Import(9, FloatInput("x", "8"),
         NodeText("Slice", "x", "y", IntsAttribute("starts", {1}) + IntsAttribute("ends", {-1})));
  EXPECT_EQ(type(), "float[6]");
  Import(9, FloatInput("x", "4,8"),
         NodeText("Slice", "x", "y",
                  IntsAttribute("starts", {1}) + IntsAttribute("ends", {3}) +
                      IntsAttribute("axes", {1})));
  EXPECT_EQ(type(), "float[4,2]");
  Import(1, FloatInput("x", "2,3"),
         NodeText("Pad", "x", "y", IntsAttribute("paddings", {0, 1, 0, 2})));
  EXPECT_EQ(type(), "float[2,6]");
  Import(
      2, FloatInput("x", "2,3"),
      NodeText("Pad", "x", "y", IntsAttribute("pads", {0, 1, 0, 2}) + FloatAttribute("value", 5)));
  EXPECT_EQ(last().input(2)->constant().data<float>()[0], 5.0f);
  Import(1, FloatInput("x", "2,3") + IntsText("n", {2}) + IntsText("axis", {1}),
         NodeText("Tile", "x,n,axis", "y"));
  EXPECT_THAT(Ints(last().input(1)), ElementsAre(1, 2));
  EXPECT_EQ(type(), "float[2,6]");
  ExpectError(9, FloatInput("x", "2"), NodeText("Slice", "x", "y"), "\"starts\" is missing");
  ExpectError(1, FloatInput("x", "2"), NodeText("Reshape", "x", "y"), "\"shape\" is missing");
  ExpectError(2, FloatInput("x", "2"), NodeText("Pad", "x", "y"), "\"pads\" is missing");
}

TEST_F(OpsetRulesTest, Split) {
  const std::string outputs = OutputText("a") + OutputText("b");
  Import(2, FloatInput("x", "6"), NodeText("Split", "x", "a,b", IntsAttribute("split", {2, 4})),
         outputs);
  EXPECT_THAT(Ints(last().input(1)), ElementsAre(2, 4));
  Import(2, FloatInput("x", "6"), NodeText("Split", "x", "a,b"), outputs);
  EXPECT_EQ(last().attributes().GetInt("num_outputs", 0), 2);
  Import(13, FloatInput("x", "6"), NodeText("Split", "x", "a,b"), outputs);
  EXPECT_EQ(last().attributes().GetInt("num_outputs", 0), 2);
  EXPECT_EQ(model_.graph->outputs()[1]->type().ToString(), "float[3]");
}

TEST_F(OpsetRulesTest, UpsampleAndResize) {
  const std::string x = FloatInput("x", "1,1,2,3");
  const auto expect_resize = [&] {
    EXPECT_EQ(ops(), "Resize");
    EXPECT_EQ(last().attributes().GetString("coordinate_transformation_mode", ""), "asymmetric");
    EXPECT_EQ(last().attributes().GetString("nearest_mode", ""), "floor");
    EXPECT_EQ(type(), "float[1,1,4,9]");
  };
  Import(1, x,
         NodeText("Upsample", "x", "y",
                  FloatAttribute("height_scale", 2) + FloatAttribute("width_scale", 3) +
                      StringAttribute("mode", "bilinear")));
  expect_resize();
  EXPECT_EQ(last().attributes().GetString("mode", ""), "linear");
  Import(7, x,
         NodeText("Upsample", "x", "y",
                  " attribute { name: \"scales\" type: FLOATS floats: [1, 1, 2, 3] }"));
  expect_resize();
  const std::string scales = FloatsText("s", "4", {1, 1, 2, 3});
  Import(9, x + scales, NodeText("Upsample", "x,s", "y"));
  expect_resize();
  Import(10, x + scales, NodeText("Resize", "x,s", "y"));
  expect_resize();
  Import(11, x + FloatsText("roi", "0", {}) + scales, NodeText("Resize", "x,roi,s", "y"));
  EXPECT_EQ(last().input(1), nullptr);
  EXPECT_FALSE(last().attributes().has("coordinate_transformation_mode"));
  Import(13, x + FloatsText("none", "0", {}) + IntsText("sizes", {1, 1, 4, 9}),
         NodeText("Resize", "x,none,none,sizes", "y"));
  EXPECT_EQ(last().input(2), nullptr);
  EXPECT_EQ(type(), "float[1,1,4,9]");
}

TEST_F(OpsetRulesTest, OldNearestResizeRoundsUpWhereItShrinks) {
  const std::string x = FloatInput("x", "1,1,4,4");
  Import(10, x + FloatsText("s", "4", {1, 1, 0.5, 0.5}), NodeText("Resize", "x,s", "y"));
  EXPECT_EQ(ops(), "Resize");
  EXPECT_EQ(last().attributes().GetString("nearest_mode", ""), "ceil");
  Import(10, x + FloatsText("s", "4", {1, 1, 0.5, 2}), NodeText("Resize", "x,s", "y"));
  EXPECT_EQ(ops(), "Min Resize Max Resize");
  EXPECT_EQ(last().attributes().GetString("nearest_mode", ""), "floor");
  // Interpolation rounds nothing.
  Import(10, x + FloatsText("s", "4", {1, 1, 0.5, 2}),
         NodeText("Resize", "x,s", "y", StringAttribute("mode", "linear")));
  EXPECT_EQ(ops(), "Resize");
}

TEST_F(OpsetRulesTest, ModesOfGridSample) {
  Import(16, FloatInput("x", "1,1,4,4") + FloatInput("g", "1,2,3,2"),
         NodeText("GridSample", "x,g", "y", StringAttribute("mode", "bicubic")));
  EXPECT_EQ(last().attributes().GetString("mode", ""), "cubic");
  EXPECT_EQ(type(), "float[1,1,2,3]");
}

TEST_F(OpsetRulesTest, GemmCastAndOthers) {
  Import(6, FloatInput("a", "2,3") + FloatInput("b", "3,4") + FloatInput("c", "4"),
         NodeText("Gemm", "a,b,c", "y", IntAttribute("broadcast", 1)));
  EXPECT_EQ(ops(), "Gemm");
  Import(11, FloatInput("a", "2,3") + FloatInput("b", "3,4"), NodeText("Gemm", "a,b", "y"));
  EXPECT_EQ(last().num_inputs(), 2);
  Import(1, FloatInput("x", "2"), NodeText("Cast", "x", "y", StringAttribute("to", "INT64")));
  EXPECT_EQ(type(), "int64[2]");
  ExpectError(1, FloatInput("x", "2"), NodeText("Cast", "x", "y", StringAttribute("to", "WORD")),
              "names no type: WORD");
  Import(1, FloatInput("x", "1,2,3,3"),
         NodeText("ImageScaler", "x", "y",
                  FloatAttribute("scale", 2) +
                      " attribute { name: \"bias\" type: FLOATS floats: [1, 2] }"));
  EXPECT_EQ(ops(), "Mul Add");
  EXPECT_EQ(type(), "float[1,2,3,3]");
  Import(11, FloatInput("x", "2,3") + FloatInput("s", "3"),
         NodeText("SimplifiedLayerNormalization", "x,s", "y"));
  EXPECT_EQ(ops(), "RMSNormalization");
  Import(11, FloatInput("x", "2,3") + FloatInput("s", "3"),
         NodeText("LayerNormalization", "x,s", "y"));
  EXPECT_THAT(model_.notes, ElementsAre(HasSubstr("entered ai.onnx in opset 17")));
}

TEST_F(OpsetRulesTest, LayerNormalizationBeforeTheStandardHadIt) {
  const std::string inputs = InputText("x", 10, "2,3") + FloatInput("s", "3");
  const std::string node =
      NodeText("LayerNormalization", "x,s", "y", FloatAttribute("epsion", 1e-5f));
  Import(12, inputs, node);
  EXPECT_EQ(ops(), "CastLike LayerNormalization");
  EXPECT_EQ(type(), "float[2,3]");
  EXPECT_THAT(model_.notes, Contains(HasSubstr("no attribute 'epsion'")));
  ExpectError(17, inputs, node, "unknown attribute 'epsion'");
}

TEST_F(OpsetRulesTest, NamesOfEmittedNodesTellWhereTheyComeFrom) {
  Import(11, FloatInput("x", "2,3,4"), NodeText("Softmax", "x", "y", "name: \"probs\""));
  EXPECT_EQ(node(0).name(), "probs/Flatten");
  EXPECT_EQ(last().name(), "probs");
  EXPECT_EQ(last().output(0)->name(), "y");
}

TEST_F(OpsetRulesTest, Experiments) {
  const std::string x = FloatInput("x", "2,3,8,9");
  Import(1, x, NodeText("Crop", "x", "y", IntsAttribute("border", {1, 2, 3, 0})));
  EXPECT_EQ(ops(), "Slice");
  EXPECT_EQ(type(), "float[2,3,6,5]");
  Import(1, x,
         NodeText("Crop", "x", "y",
                  IntsAttribute("border", {1, 2, 0, 0}) + IntsAttribute("scale", {4, 3})));
  EXPECT_EQ(type(), "float[2,3,4,3]");
  ExpectError(1, x, NodeText("Crop", "x", "y", IntsAttribute("border", {-1, 0, 0, 0})),
              "expected sizes in pixels");
  Import(7, x, NodeText("Scale", "x", "y", FloatAttribute("scale", 2)));
  EXPECT_EQ(ops(), "Mul");
  Import(7, x,
         NodeText("MeanVarianceNormalization", "x", "y", IntAttribute("normalize_variance", 0)));
  EXPECT_EQ(ops(), "ReduceMean Sub");
  EXPECT_THAT(Ints(node(0).input(1)), ElementsAre(0, 2, 3));
  Import(7, InputText("s", 7, "1"),
         NodeText("ConstantFill", "s", "y",
                  IntAttribute("input_as_shape", 1) + IntAttribute("dtype", 7)));
  EXPECT_EQ(ops(), "Cast ConstantOfShape Cast");
}

TEST_F(OpsetRulesTest, OneHotOfNegatives) {
  const std::string inputs =
      InputText("i", 7, "4") + IntsText("d", {3}) + FloatsText("v", "2", {0, 1});
  Import(9, inputs, NodeText("OneHot", "i,d,v", "y"));
  EXPECT_EQ(last().input(0)->producer()->op().name, "Where");
  Import(11, inputs, NodeText("OneHot", "i,d,v", "y"));
  EXPECT_EQ(ops(), "OneHot");
}

}  // namespace
}  // namespace inferd::engine
