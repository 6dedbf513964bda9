// Operators of com.microsoft that come in as operators of the standard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MicrosoftRulesTest : public ::testing::Test {
 protected:
  static std::string Text(const std::string& inputs, const std::string& op,
                          const std::string& names, const std::string& results,
                          const std::string& attributes) {
    std::string outputs;
    for (absl::string_view y : {"y", "s"}) {
      if (absl::StrContains(results, y)) outputs += OutputText(y);
    }
    return ModelText(
        20,
        inputs + NodeText(op, names, results, "domain: \"com.microsoft\" " + attributes) + outputs);
  }
  void Import(const std::string& inputs, const std::string& op, const std::string& names,
              const std::string& attributes = "", const std::string& results = "y") {
    auto imported = ImportText(Text(inputs, op, names, results, attributes));
    ASSERT_TRUE(imported.ok()) << imported.status();
    model_ = *std::move(imported);
  }
  std::string ErrorOf(const std::string& inputs, const std::string& op, const std::string& names,
                      const std::string& attributes) {
    return std::string(ImportText(Text(inputs, op, names, "y", attributes)).status().message());
  }
  const Node& node(int i) const { return *model_.graph->nodes()[i]; }
  std::string ops() const { return OpsOf(*model_.graph); }
  std::string type(int i = 0) const { return model_.graph->outputs()[i]->type().ToString(); }

  ImportedModel model_;
};

TEST_F(MicrosoftRulesTest, FusedMatMul) {
  Import(
      FloatInput("a", "5,2,4,3") + FloatInput("b", "2,4,5,6"), "FusedMatMul", "a,b",
      IntAttribute("transA", 1) + IntAttribute("transBatchA", 1) + FloatAttribute("alpha", 0.5f));
  EXPECT_EQ(ops(), "Transpose MatMul Mul");
  EXPECT_THAT(node(0).attributes().GetInts("perm"), ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(type(), "float[2,4,3,6]");
  Import(FloatInput("a", "4,5") + FloatInput("b", "5,6"), "TransposeMatMul", "a,b");
  EXPECT_EQ(ops(), "MatMul");
  Import(FloatInput("a", "...") + FloatInput("b", "5,6"), "TransposeMatMul", "a,b",
         IntAttribute("transA", 1));
  EXPECT_EQ(ops(), "com.microsoft::FusedMatMul");
}

TEST_F(MicrosoftRulesTest, FusedGemm) {
  Import(FloatInput("a", "4,5") + FloatInput("b", "5,6"), "FusedGemm", "a,b",
         StringAttribute("activation", "LeakyRelu") + FloatAttribute("activation_alpha", 0.25f) +
             FloatAttribute("alpha", 2));
  EXPECT_EQ(ops(), "Gemm LeakyRelu");
  EXPECT_EQ(node(0).attributes().GetFloat("alpha", 0), 2);
  EXPECT_EQ(node(1).attributes().GetFloat("alpha", 0), 0.25f);
}

TEST_F(MicrosoftRulesTest, FusedConvolutions) {
  const std::string inputs =
      FloatInput("x", "1,2,5,5") + FloatInput("w", "3,2,3,3") + FloatInput("z", "1,3,3,3");
  Import(inputs, "FusedConv", "x,w,_,z", StringAttribute("activation", "Relu"));
  EXPECT_EQ(ops(), "Conv Add Relu");
  Import(inputs, "FusedConv", "x,w");
  EXPECT_EQ(ops(), "Conv");
  EXPECT_THAT(ErrorOf(inputs, "FusedConv", "x,w", StringAttribute("activation", "Clip")),
              HasSubstr("Clip needs 2"));
  Import(FloatInput("x", "1,5,5,2") + FloatInput("w", "3,2,3,3"), "NhwcFusedConv", "x,w");
  EXPECT_EQ(ops(), "Transpose Conv Transpose");
  EXPECT_EQ(type(), "float[1,3,3,3]");
}

TEST_F(MicrosoftRulesTest, GroupNorms) {
  const std::string inputs = FloatInput("x", "2,4,5,8") + FloatInput("g", "8") +
                             FloatInput("b", "8") + FloatInput("k", "2,8");
  const std::string attributes = IntAttribute("groups", 4) + IntAttribute("activation", 1);
  Import(inputs, "GroupNorm", "x,g,b", attributes);
  EXPECT_EQ(ops(), "Transpose GroupNormalization Sigmoid Mul Transpose Identity");
  EXPECT_EQ(type(), "float[2,4,5,8]");
  // The sum that is normalized is an output of its own.
  Import(inputs, "SkipGroupNorm", "x,g,b,k", attributes, "y,s");
  EXPECT_EQ(ops(),
            "Unsqueeze Add Transpose GroupNormalization Sigmoid Mul Transpose Identity "
            "Identity");
  EXPECT_EQ(model_.graph->outputs()[1]->producer()->input(0), node(1).output(0));
  EXPECT_EQ(type(1), "float[2,4,5,8]");
}

TEST_F(MicrosoftRulesTest, DropoutIsForTraining) {
  const std::string inputs = FloatInput("x", "2,3") + FloatInput("b", "3") + InputText("t", 9, "");
  Import(inputs, "BiasDropout", "x,b,x", "", "y,s");
  EXPECT_EQ(ops(), "Add Shape ConstantOfShape Add Identity");
  EXPECT_EQ(type(1), "bool[?,?]");
  EXPECT_THAT(ErrorOf(inputs, "BiasDropout", "x,b,_,_,t", ""), HasSubstr("training_mode"));
}

TEST_F(MicrosoftRulesTest, UniqueReordersItsOutputs) {
  Import(FloatInput("x", "4"), "Unique", "x", "", "y,_,s");
  EXPECT_EQ(ops(), "Unique");
  // idx, not read here, is what the standard calls inverse_indices; counts follow it.
  EXPECT_EQ(node(0).output(1), nullptr);
  EXPECT_EQ(node(0).output(2), nullptr);
  EXPECT_EQ(node(0).output(3), model_.graph->outputs()[1]);
}

TEST(ForeignDomains, SayWhatToDo) {
  const auto error = [](const std::string& domain) {
    return std::string(
        ImportText(
            ModelText(13, FloatInput("x", "2") +
                              NodeText("Conv", "x", "y", absl::StrCat("domain: \"", domain, "\"")) +
                              OutputText("y")))
            .status()
            .message());
  };
  EXPECT_THAT(error("com.microsoft.nchwc"), HasSubstr("use the model it was made from"));
  EXPECT_THAT(error("ai.onnx.contrib"), HasSubstr("onnxruntime-extensions"));
}

}  // namespace
}  // namespace inferd::engine
