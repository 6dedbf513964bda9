// inferplan compare, check and operators on models written as protobuf text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "engine/inferplan/commands.h"
#include "engine/inferplan/error_measure.h"
#include "engine/onnx/tensor_file.h"
#include "engine/whole_file.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class CompareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() /
            ("compare_test_" + std::to_string(::getpid()) + "_" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string Write(const std::string& name, const std::string& bytes) {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    EXPECT_TRUE(WriteFile(path.string(), bytes).ok());
    return path.string();
  }
  std::string WriteModel(const std::string& text) { return Write("m.onnx", ModelBytes(text)); }
  std::string WriteTensor(const std::string& name, const Shape& shape,
                          const std::vector<float>& values) {
    return Write(name, SerializeTensorProto(Tensor::FromValues<float>(shape, values).view(), ""));
  }
  std::string Read(const std::string& name) {
    std::ifstream file(root_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  fs::path root_;
};

// Exit status and standard output, with what came on standard error behind it.
template <typename Command>
std::pair<int, std::string> Invoke(Command command, const std::vector<std::string>& args) {
  std::vector<const char*> pointers;
  for (const std::string& a : args) pointers.push_back(a.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int status = command(pointers);
  const std::string out = ::testing::internal::GetCapturedStdout();
  return {status, out + ::testing::internal::GetCapturedStderr()};
}

// Small integers, so that every order of summation in the convolution is exact; the normalization
// is not, so that folding it rounds differently.
std::string ConvBatchNorm() {
  return ModelText(
      15, FloatInput("x", "1,1,4,4") + FloatsText("w", "2,1,1,1", {3, -2}) +
              FloatsText("scale", "2", {0.3f, 1.7f}) + FloatsText("bias", "2", {0.1f, -0.7f}) +
              FloatsText("mean", "2", {0.9f, -0.3f}) + FloatsText("var", "2", {0.7f, 1.3f}) +
              NodeText("Conv", "x,w", "c", "name: \"conv\"") +
              NodeText("BatchNormalization", "c,scale,bias,mean,var", "y", "name: \"bn\"") +
              OutputText("y"));
}

std::vector<float> Ramp(int n) {
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = static_cast<float>(i % 7 - 3);
  return values;
}

TEST_F(CompareTest, AgainstEagerPrintsErrorsPerOutput) {
  const std::string model = WriteModel(ConvBatchNorm());
  const auto [status, out] =
      Invoke(RunCompare, {model, "--against", "eager", "--json", (root_ / "c.json").string()});
  EXPECT_EQ(status, 0) << out;
  EXPECT_THAT(out, AllOf(HasSubstr("max abs"), HasSubstr("max ulps"), HasSubstr("float[1,2,4,4]"),
                         HasSubstr("ok"), Not(HasSubstr("DIVERGES"))));
  EXPECT_THAT(Read("c.json"),
              AllOf(HasSubstr("\"diverges\": false"), HasSubstr("\"max_relative\"")));
}

TEST_F(CompareTest, BisectionNamesThePass) {
  const std::string model = WriteModel(ConvBatchNorm());
  const std::string x = WriteTensor("x.pb", {1, 1, 4, 4}, Ramp(16));
  // Without tolerance the rounding of the folded normalization counts as a divergence.
  const std::vector<std::string> args = {model, "--input", "x=" + x, "--rtol", "0", "--atol", "0"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), args.begin(), args.end());
    return Invoke(RunCompare, more);
  };
  const auto [status, out] = with({"--bisect", "--json", (root_ / "c.json").string()});
  EXPECT_EQ(status, 1);
  EXPECT_THAT(
      out, AllOf(HasSubstr("DIVERGES"), HasSubstr("pass batch_norm_to_scale_shift"),
                 HasSubstr("its rewrite is wrong by the reference kernels too"), HasSubstr("bn")));
  EXPECT_THAT(Read("c.json"), HasSubstr("\"pass\": \"batch_norm_to_scale_shift\""));
  EXPECT_EQ(with({"--disable-passes", "batch_norm_to_scale_shift"}).first, 0);
  EXPECT_EQ(with({"--stop-after", "0"}).first, 0);
  EXPECT_EQ(with({"--stop-after", "0", "--bisect"}).first, 1) << "they exclude each other";
  EXPECT_THAT(with({"--disable-passes", "no_such_pass"}).second, HasSubstr("no pass is named"));
}

TEST_F(CompareTest, BisectionNamesTheKernel) {
  std::vector<float> weights(8 * 16 * 9);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::sin(static_cast<float>(i));
  const std::string model = WriteModel(
      ModelText(13, FloatInput("x", "1,16,9,9") + FloatsText("w", "8,16,3,3", weights) +
                        NodeText("Relu", "x", "r", "name: \"first\"") +
                        NodeText("Conv", "r,w", "y", "name: \"conv\"") + OutputText("y")));
  const auto [status, out] = Invoke(RunCompare, {model, "--rtol", "0", "--atol", "0", "--bisect"});
  EXPECT_EQ(status, 1);
  EXPECT_THAT(out, AllOf(HasSubstr("outputs diverge without any pass"),
                         HasSubstr("the first node that diverges is conv (Conv) [Conv] by cpu/"),
                         HasSubstr("value \"y\"")));
}

TEST_F(CompareTest, AgainstDataSets) {
  const std::string model = WriteModel(
      ModelText(13, FloatInput("x", "N,2") + NodeText("Neg", "x", "y") + OutputText("y")));
  WriteTensor("good/test_data_set_0/input_0.pb", {1, 2}, {1, -2});
  WriteTensor("good/test_data_set_0/output_0.pb", {1, 2}, {-1, 2});
  WriteTensor("bad/test_data_set_0/input_0.pb", {1, 2}, {1, -2});
  WriteTensor("bad/test_data_set_0/output_0.pb", {1, 2}, {-1, 2.5f});
  auto against = [&](const std::string& folder) {
    return Invoke(RunCompare, {model, "--against", (root_ / folder).string(), "--bisect"});
  };
  EXPECT_EQ(against("good").first, 0);
  EXPECT_EQ(against("good/test_data_set_0").first, 0);
  const auto [status, out] = against("bad");
  EXPECT_EQ(status, 1);
  EXPECT_THAT(out, AllOf(HasSubstr("against test_data_set_0"),
                         HasSubstr("DIVERGES: 1 of 2 elements differ; worst at [0,1]"),
                         HasSubstr("the reference kernels diverge as well")));
  EXPECT_THAT(against("nowhere").second, HasSubstr("is not a directory"));
  EXPECT_THAT(against(".").second, HasSubstr("neither output_0.pb nor test_data_set_*"));
}

ErrorMeasure Measure(const std::vector<float>& got, const std::vector<float>& want) {
  const Shape shape = {static_cast<int64_t>(got.size())};
  return MeasureError(Tensor::FromValues<float>(shape, got).view(),
                      Tensor::FromValues<float>(shape, want).view(), {.rtol = 1e-3, .atol = 0});
}

TEST(ErrorMeasureTest, CountsUlpsAcrossZero) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(Measure({tiny}, {-tiny}).max_ulps, 2u);
  EXPECT_EQ(Measure({0.0f}, {-0.0f}).max_ulps, 0u);
  EXPECT_EQ(Measure({std::nextafter(1.0f, 2.0f)}, {1.0f}).max_ulps, 1u);
  const ErrorMeasure m = Measure({1.5f, 2, 0.25f}, {1, 2, 0});
  EXPECT_EQ(m.differing, 2);
  EXPECT_EQ(m.max_absolute, 0.5);
  EXPECT_EQ(m.max_relative, 0.5);
  EXPECT_FALSE(m.divergence.empty());
}

TEST(ErrorMeasureTest, WhatIsNotFiniteIsInfinitelyFar) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Measure({nan, inf}, {nan, inf}).differing, 0);
  EXPECT_EQ(Measure({nan}, {1}).max_absolute, std::numeric_limits<double>::infinity());
  EXPECT_EQ(Measure({1}, {inf}).max_relative, std::numeric_limits<double>::infinity());
}

TEST_F(CompareTest, CheckListsOperatorsFunctionsAndEveryGap) {
  const std::string functions =
      "opset_import { domain: \"my\" version: 1 } functions { name: \"F\" domain: \"my\" input: "
      "\"a\" output: \"b\" opset_import { version: 13 } " +
      NodeText("Neg", "a", "b") + "}";
  const std::string graph = FloatInput("x", "2") + InputText("s", 8, "2") +
                            NodeText("F", "x", "f", "domain: \"my\"") +
                            NodeText("F", "f", "g", "domain: \"my\"") + NodeText("Relu", "s", "h") +
                            NodeText("Frobnicate", "g,h", "i") + NodeText("Scatter", "x,k,x", "j") +
                            IntsText("k", {0, 1}) + OutputText("j");
  const std::string json = (root_ / "check.json").string();
  const auto [status, out] =
      Invoke(RunCheck, {WriteModel(ModelText(13, graph, functions)), "--json", json});
  EXPECT_EQ(status, 1);
  EXPECT_THAT(out, ::testing::ContainsRegex("Neg +13 +1 +float +yes +cpu: "));
  EXPECT_THAT(out,
              ::testing::ContainsRegex("Relu +13 +1 +string +NO +missing: .*element type string"));
  EXPECT_THAT(out, ::testing::ContainsRegex("Frobnicate +13 +1 .*NO +missing: .*not implemented"));
  EXPECT_THAT(out, ::testing::ContainsRegex("Scatter +13 +1 .*yes +as ScatterElements; cpu: "));
  EXPECT_THAT(out, ::testing::ContainsRegex("my::F +2 +1"));
  EXPECT_THAT(Read("check.json"), AllOf(HasSubstr("\"runs\": false"), HasSubstr("\"calls\": 2"),
                                        HasSubstr("\"imported_as\"")));
}

TEST_F(CompareTest, CheckOfANewerOpset) {
  const auto [ok, out] =
      Invoke(RunCheck, {WriteModel(ModelText(99, FloatInput("x", "2") + NodeText("Relu", "x", "y") +
                                                     OutputText("y")))});
  EXPECT_EQ(ok, 0) << out;
  EXPECT_THAT(out, HasSubstr("opset 99 of ai.onnx, newer than the newest known"));
  const auto [bad, text] = Invoke(
      RunCheck, {WriteModel(ModelText(
                    99, FloatInput("x", "2") + NodeText("Novelty", "x", "y") + OutputText("y")))});
  EXPECT_EQ(bad, 1);
  EXPECT_THAT(text, HasSubstr("a later opset may have added it"));
}

TEST(OperatorsTest, ListsTheRegistry) {
  const auto [status, markdown] = Invoke(RunOperators, {"--markdown"});
  EXPECT_EQ(status, 0);
  EXPECT_THAT(markdown, HasSubstr("| Add | 1-27 | 14 | 1-6 | T: *numeric* | cpu: "));
  EXPECT_THAT(markdown, HasSubstr("## ai.onnx.ml"));
  EXPECT_THAT(markdown, HasSubstr("as ScatterElements"));
  EXPECT_THAT(markdown, Not(HasSubstr("inferd")));
  EXPECT_THAT(Invoke(RunOperators, {"--json"}).second, HasSubstr("\"oldest_opset\": 1"));
  EXPECT_EQ(Invoke(RunOperators, {"--json", "--markdown"}).first, 2);
}

}  // namespace
}  // namespace inferd::engine
