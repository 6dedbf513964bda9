// The parts of inferplan: JSON, shapes, comparison of tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/inferplan/json_writer.h"
#include "engine/inferplan/model_inputs.h"
#include "engine/inferplan/randomize_weights.h"
#include "engine/tensor/tensor_comparison.h"
#include "engine/ir/text_format.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

TEST(JsonWriterTest, Document) {
  JsonWriter json;
  json.BeginObject().Key("a\"\n").Int(-3).Key("list").BeginArray();
  json.Double(0.5).Double(std::numeric_limits<double>::quiet_NaN()).Bool(true).String("\x01\\");
  json.EndArray().Key("empty").BeginObject().EndObject().EndObject();
  EXPECT_EQ(json.text(),
            "{\n  \"a\\\"\\n\": -3,\n  \"list\": [\n    0.5,\n    null,\n    true,\n"
            "    \"\\u0001\\\\\"\n  ],\n  \"empty\": {}\n}\n");
}

TEST(ModelInputsTest, Shapes) {
  std::vector<TensorInfo> inputs = {
      {"x",
       ValueType::TensorOf(ElementType::kFloat32,
                           SymbolicShape({Dim::Symbol("n"), Dim(3), Dim::Unknown()})),
       false}};
  EXPECT_EQ((*ChooseShapes(inputs, {}, 7))[0], (Shape{1, 3, 7}));
  EXPECT_EQ((*ChooseShapes(inputs, {{"x", Shape{5, 3, 2}}}))[0], (Shape{5, 3, 2}));
  EXPECT_THAT(std::string(ChooseShapes(inputs, {{"z", Shape{1}}}).status().message()),
              HasSubstr("\"z\""));
}

std::string Compare(const Tensor& got, const Tensor& want) {
  return CompareTensors(got.view(), want.view(), Tolerance());
}

Tensor F(std::vector<float> v) {
  const int64_t n = static_cast<int64_t>(v.size());
  return Tensor::FromValues<float>({n}, v);
}

TEST(TensorComparisonTest, Floats) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Compare(F({1, nan, inf, -inf}), F({1.0005f, nan, inf, -inf})), "");
  EXPECT_THAT(Compare(F({1, 2, 3}), F({1, 2.1f, 4})),
              HasSubstr("2 of 3 elements differ; worst at [2]: got 3, want 4"));
  EXPECT_NE(Compare(F({nan}), F({1})), "");
  EXPECT_NE(Compare(F({inf}), F({-inf})), "");
  EXPECT_NE(Compare(F({1}), F({inf})), "");
  EXPECT_NE(Compare(F({1}), F({1, 1})), "");
  EXPECT_NE(Compare(F({1}), Tensor::Vector({1})), "");
  EXPECT_EQ(Compare(F({}), F({})), "");
}

TEST(TensorComparisonTest, EverythingElseIsExact) {
  EXPECT_EQ(Compare(Tensor::Vector({1, 2}), Tensor::Vector({1, 2})), "");
  EXPECT_NE(Compare(Tensor::Vector({1000000, 2}), Tensor::Vector({1000001, 2})), "");
  EXPECT_NE(Compare(Tensor::Scalar<std::string>("a"), Tensor::Scalar<std::string>("b")), "");
  EXPECT_NE(Compare(Tensor::Scalar(true), Tensor::Scalar(false)), "");
  EXPECT_EQ(Compare(Tensor::Scalar(Float16(1.0f)), Tensor::Scalar(Float16(1.001f))), "");
  EXPECT_NE(Compare(Tensor::Scalar(Float16(1.0f)), Tensor::Scalar(Float16(1.1f))), "");
}

TEST(RandomizeWeightsTest, ReplacesWeightsAndKeepsTheRest) {
  auto graph = ParseGraph(R"(
graph g (x: float[n,4]) -> (y) {
  shape = constant int64[2] {4,5}
  w = ConstantOfShape(shape)
  limit = constant float[] {6}
  h = MatMul(x, w)
  low = constant float[] {0}
  y = Clip(h, low, limit)
})",
                          OpRegistry::Global());
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto count = RandomizeWeights(**graph, 1);
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(*count, 1);
  const Node& matmul = *(*graph)->nodes()[0];
  ASSERT_EQ(matmul.op().name, "MatMul");
  const Tensor& w = matmul.input(1)->constant();
  EXPECT_EQ(w.shape(), (Shape{4, 5}));
  EXPECT_NE(w.values<float>()[0], 0);
  EXPECT_NE(w.values<float>()[0], w.values<float>()[1]);
  EXPECT_TRUE(Verify(**graph).ok());
}

}  // namespace
}  // namespace inferd::engine
