// The subcommands, called as main calls them. Model files are written by hand: an ONNX file is a
// protobuf message, a few tags and lengths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/inferplan/commands.h"
#include "engine/inferplan/json_writer.h"
#include "engine/onnx/tensor_file.h"
#include "engine/tensor/tensor.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string Field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string Number(int number, int value) {
  return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
}

// ValueInfoProto of float[n,2].
std::string FloatMatrix(const std::string& name) {
  const std::string shape = Field(1, Field(2, "n")) + Field(1, Number(1, 2));
  return Field(1, name) + Field(2, Field(1, Number(1, 1) + Field(2, shape)));
}

// y = op(x), ai.onnx opset 13.
std::string ModelBytes(const std::string& op) {
  const std::string node = Field(1, "x") + Field(2, "y") + Field(4, op);
  const std::string graph =
      Field(1, node) + Field(2, "g") + Field(11, FloatMatrix("x")) + Field(12, FloatMatrix("y"));
  return Number(1, 7) + Field(7, graph) + Field(8, Number(2, 13));
}

class InferplanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() /
            ("inferplan_test_" + std::to_string(::getpid()) + "_" +
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
  std::string Read(const std::string& name) {
    std::ifstream file(root_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void WriteCase(const std::string& name, const std::string& op, std::vector<float> in,
                 std::vector<float> out) {
    Write(name + "/model.onnx", ModelBytes(op));
    Write(name + "/test_data_set_0/input_0.pb",
          SerializeTensorProto(Tensor::FromValues<float>({1, 2}, in).view(), "x"));
    Write(name + "/test_data_set_0/output_0.pb",
          SerializeTensorProto(Tensor::FromValues<float>({1, 2}, out).view(), "y"));
  }

  fs::path root_;
};

// Runs a command with its standard output captured.
template <typename Command>
std::pair<int, std::string> Invoke(Command command, const std::vector<std::string>& args) {
  std::vector<const char*> pointers;
  for (const std::string& a : args) pointers.push_back(a.c_str());
  ::testing::internal::CaptureStdout();
  const int status = command(pointers);
  return {status, ::testing::internal::GetCapturedStdout()};
}

TEST_F(InferplanTest, TestCountsAndNamesFailures) {
  WriteCase("good", "Neg", {1, -2}, {-1, 2});
  WriteCase("deep/wrong", "Neg", {1, -2}, {-1, 3});
  WriteCase("unknown", "NoSuchOperator", {1, 2}, {1, 2});
  const auto [status, out] =
      Invoke(RunTest, {root_.string(), "--json", (root_ / "out.json").string()});
  EXPECT_EQ(status, 1);
  EXPECT_THAT(out, HasSubstr("FAILED wrong: test_data_set_0: output 0 \"y\": 1 of 2 elements "
                             "differ; worst at [0,1]: got 2, want 3"));
  EXPECT_THAT(out, HasSubstr("FAILED unknown: "));
  EXPECT_THAT(out, HasSubstr("NoSuchOperator"));
  EXPECT_THAT(out, ::testing::EndsWith("1 passed, 2 failed, 0 skipped\n"));
  EXPECT_THAT(Read("out.json"), HasSubstr("\"failed\": 2"));
}

TEST_F(InferplanTest, TestSelects) {
  WriteCase("neg", "Neg", {1, -2}, {-1, 2});
  WriteCase("abs", "Abs", {1, -2}, {1, 2});
  EXPECT_EQ(Invoke(RunTest, {root_.string()}).first, 0);
  EXPECT_THAT(Invoke(RunTest, {root_.string(), "--ops", "Abs,Relu"}).second,
              HasSubstr("1 passed, 0 failed, 1 skipped"));
  EXPECT_THAT(Invoke(RunTest, {root_.string(), "--filter", "^ne"}).second,
              HasSubstr("1 passed, 0 failed, 0 skipped"));
  EXPECT_THAT(Invoke(RunTest, {root_.string(), "--eager"}).second,
              HasSubstr("2 passed, 0 failed, 0 skipped"));
  EXPECT_EQ(Invoke(RunTest, {root_.string(), "--filter", "["}).first, 2);
  EXPECT_EQ(Invoke(RunTest, {(root_ / "nowhere").string()}).first, 2);
  EXPECT_EQ(Invoke(RunTest, {root_.string(), "--filter", "nothing"}).first, 1) << "no case ran";
}

TEST_F(InferplanTest, ExpectedFailuresMustFail) {
  WriteCase("good", "Neg", {1, -2}, {-1, 2});
  WriteCase("wrong", "Neg", {1, -2}, {-1, 3});
  const std::string both = Write("both.txt", "# comment\nwrong the data is off\n");
  const std::string stale = Write("stale.txt", "wrong the data is off\ngood was broken once\n");
  const std::string bare = Write("bare.txt", "wrong\n");
  EXPECT_EQ(Invoke(RunTest, {root_.string(), "--expect", both}).first, 0);
  const auto [status, out] = Invoke(RunTest, {root_.string(), "--expect", stale});
  EXPECT_EQ(status, 1);
  EXPECT_THAT(out, HasSubstr("FAILED good: passes, but is expected to fail"));
  EXPECT_EQ(Invoke(RunTest, {root_.string(), "--expect", bare}).first, 2);
}

TEST_F(InferplanTest, DeclaredTolerancesHoldForTheirCases) {
  WriteCase("near", "Neg", {1, -2}, {-1, 2.01f});
  WriteCase("far", "Neg", {1, -2}, {-1, 3});
  const std::string one = Write("one.txt", "# comment\nnear 1e-2 0 the data has three digits\n");
  const std::string all = Write("all.txt", "ne?r 0 0.02 as above\n* 1 0 anything goes\n");
  const std::string none = Write("none.txt", "nera 1e-2 0 misspelled\n");
  const auto [status, out] = Invoke(RunTest, {root_.string(), "--tolerances", one, "--verbose"});
  EXPECT_EQ(status, 1);
  EXPECT_THAT(out, HasSubstr("passed near: with rtol 0.01 and atol 0: the data has three digits"));
  EXPECT_THAT(out, HasSubstr("FAILED far: "));
  EXPECT_EQ(Invoke(RunTest, {root_.string(), "--tolerances", all}).first, 0);
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(Invoke(RunTest, {root_.string(), "--tolerances", none}).second,
              HasSubstr("0 passed, 2 failed"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("none.txt:1: no case is called nera"));
  for (const char* bad : {"near 1e-2 reason", "near 1e-2 0", "near -1 0 reason", "near"}) {
    EXPECT_EQ(Invoke(RunTest, {root_.string(), "--tolerances", Write("bad.txt", bad)}).first, 2);
  }
}

TEST_F(InferplanTest, RunPrintsAndWritesOutputs) {
  const std::string model = Write("m.onnx", ModelBytes("Neg"));
  const std::string input = Write(
      "in.pb", SerializeTensorProto(
                   Tensor::FromValues<float>({2, 2}, std::vector<float>{1, 2, 3, 4}).view(), ""));
  const auto [status, out] =
      Invoke(RunRun, {model, "--input", "x=" + input, "--output-dir", (root_ / "out").string()});
  EXPECT_EQ(status, 0);
  EXPECT_THAT(out, HasSubstr("y float[2,2] min -4 max -1 mean -2.5"));
  auto written = ReadTensorFile((root_ / "out/output_0.pb").string());
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(written->values<float>(), ::testing::ElementsAre(-1, -2, -3, -4));
  EXPECT_EQ(Invoke(RunRun, {model, "--shape", "x=3x2"}).first, 0);
  EXPECT_EQ(Invoke(RunRun, {model, "--shape", "x=3x5"}).first, 1);
  EXPECT_EQ(Invoke(RunRun, {model, "--input", "nope=random"}).first, 1);
  EXPECT_EQ(Invoke(RunRun, {model, "--nope"}).first, 2);
  EXPECT_EQ(Invoke(RunRun, {"--help"}).first, 0);
}

TEST_F(InferplanTest, CheckSaysWhetherAModelRuns) {
  const std::string good = Write("good.onnx", ModelBytes("Neg"));
  const std::string bad = Write("bad.onnx", ModelBytes("NoSuchOperator"));
  const std::string json = (root_ / "check.json").string();
  const auto [status, out] = Invoke(RunCheck, {good, "--json", json});
  EXPECT_EQ(status, 0);
  EXPECT_THAT(out, HasSubstr("the model can run"));
  EXPECT_THAT(Read("check.json"), HasSubstr("\"runs\": true"));
  const auto [bad_status, bad_out] = Invoke(RunCheck, {bad, "--json", json});
  EXPECT_EQ(bad_status, 1);
  EXPECT_THAT(bad_out, HasSubstr("NoSuchOperator"));
  EXPECT_THAT(Read("check.json"), HasSubstr("\"runs\": false"));
  EXPECT_EQ(Invoke(RunCheck, {(root_ / "none.onnx").string()}).first, 1);
}

TEST_F(InferplanTest, BenchMeasuresEveryCombination) {
  const std::string model = Write("m.onnx", ModelBytes("Neg"));
  const auto [status, out] =
      Invoke(RunBench, {model, "--batch", "1,4", "--threads", "1,2", "--seconds", "0", "--warmup",
                        "0", "--json", (root_ / "bench.json").string()});
  EXPECT_EQ(status, 0) << out;
  const std::string json = Read("bench.json");
  EXPECT_THAT(json, HasSubstr("\"batch\": 4"));
  EXPECT_THAT(json, HasSubstr("\"threads\": 2"));
  EXPECT_THAT(json, HasSubstr("\"p99_ms\""));
}

}  // namespace
}  // namespace inferd::engine
