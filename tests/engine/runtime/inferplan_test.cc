// The parts of inferplan: arguments, JSON, .npy files, shapes, comparison of tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/inferplan/arguments.h"
#include "engine/inferplan/json_writer.h"
#include "engine/inferplan/model_inputs.h"
#include "engine/inferplan/npy_file.h"
#include "engine/inferplan/randomize_weights.h"
#include "engine/inferplan/tensor_comparison.h"
#include "engine/ir/text_format.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CommandSpec Spec() {
  return {
      "demo",
      "MODEL",
      1,
      2,
      "Shows.",
      {{"--threads", "N", "threads"}, {"--eager", "", "slow"}, {"--shape", "NAME=SHAPE", "shape"}}};
}

absl::StatusOr<Arguments> Parse(std::vector<const char*> args) {
  return Arguments::Parse(Spec(), args);
}

TEST(ArgumentsTest, FlagsAndPositionals) {
  auto a = Parse({"m.onnx", "--threads", "2", "--eager", "--shape=x=1x2", "--shape", "y=3"});
  ASSERT_TRUE(a.ok()) << a.status();
  EXPECT_THAT(a->positional(), ElementsAre("m.onnx"));
  EXPECT_EQ(*a->get_int("--threads", 1), 2);
  EXPECT_TRUE(a->has("--eager"));
  EXPECT_EQ(a->get_map("--shape")->at("x"), "1x2");
  EXPECT_EQ(a->get_map("--shape")->at("y"), "3");
  EXPECT_EQ(*a->get_double("--seconds", 2.5), 2.5);
}

TEST(ArgumentsTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(std::string(Parse({"m", "--thread", "2"}).status().message()), HasSubstr("--thread"));
  EXPECT_THAT(std::string(Parse({"m", "--threads"}).status().message()),
              HasSubstr("needs a value"));
  EXPECT_THAT(std::string(Parse({"m", "--eager=1"}).status().message()), HasSubstr("no value"));
  EXPECT_THAT(std::string(Parse({}).status().message()), HasSubstr("MODEL"));
  EXPECT_THAT(std::string(Parse({"a", "b", "c"}).status().message()), HasSubstr("\"c\""));
  EXPECT_THAT(
      std::string(Parse({"m", "--threads", "x"})->get_int("--threads", 1).status().message()),
      HasSubstr("\"x\""));
  EXPECT_FALSE(Parse({"m", "--threads", "0,2"})->get_ints("--threads", "1", 1).ok());
  EXPECT_FALSE(Parse({"m", "--shape", "1x2"})->get_map("--shape").ok());
  EXPECT_TRUE(Parse({"m", "--", "--threads"}).ok());
}

TEST(JsonWriterTest, Document) {
  JsonWriter json;
  json.BeginObject().Key("a\"\n").Int(-3).Key("list").BeginArray();
  json.Double(0.5).Double(std::numeric_limits<double>::quiet_NaN()).Bool(true).String("\x01\\");
  json.EndArray().Key("empty").BeginObject().EndObject().EndObject();
  EXPECT_EQ(json.text(),
            "{\n  \"a\\\"\\n\": -3,\n  \"list\": [\n    0.5,\n    null,\n    true,\n"
            "    \"\\u0001\\\\\"\n  ],\n  \"empty\": {}\n}\n");
}

std::string Npy(const std::string& header, const std::string& data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

TEST(NpyFileTest, Reads) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  const std::string data(reinterpret_cast<const char*>(values), sizeof(values));
  auto t = ParseNpy(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", data));
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->shape(), (Shape{2, 3}));
  EXPECT_THAT(t->values<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  auto scalar = ParseNpy(Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "\1"));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_EQ(scalar->shape().rank(), 0);
}

TEST(NpyFileTest, RefusesWhatItCannotRead) {
  const std::string good =
      Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", "12345678");
  ASSERT_TRUE(ParseNpy(good).ok());
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(ParseNpy(good.substr(0, n)).ok()) << n;
  EXPECT_FALSE(ParseNpy(good + "x").ok());
  EXPECT_FALSE(
      ParseNpy(Npy("{'descr': '>i8', 'fortran_order': False, 'shape': (1,), }", "12345678")).ok());
  EXPECT_FALSE(
      ParseNpy(Npy("{'descr': '<i8', 'fortran_order': True, 'shape': (1,1), }", "12345678")).ok());
  EXPECT_FALSE(
      ParseNpy(Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (-1,), }", "12345678")).ok());
  EXPECT_FALSE(
      ParseNpy(Npy("{'descr': '<i8', 'shape': (9999999999,9999999999,9999999999)}", "")).ok());
  EXPECT_FALSE(ParseNpy(Npy("{'shape'", "")).ok());
}

TEST(ModelInputsTest, Shapes) {
  EXPECT_EQ(*ParseShape("1x3x224x224"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(*ParseShape("scalar"), Shape{});
  for (const char* bad : {"x", "1x", "1x-2", "axb", "1 x 2y"})
    EXPECT_FALSE(ParseShape(bad).ok()) << bad;

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
