// inferplan profile and sweep: what they print and write. No time is asserted.
#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "engine/inferplan/batch_sweep.h"
#include "engine/inferplan/commands.h"
#include "engine/inferplan/machine_peak.h"
#include "engine/whole_file.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using JsonObject = google::protobuf::Struct;
namespace fs = std::filesystem;

class ProfileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() /
            ("profile_test_" + std::to_string(::getpid()) + "_" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string Path(const std::string& name) { return (root_ / name).string(); }
  std::string WriteModel(const std::string& text) {
    EXPECT_TRUE(WriteFile(Path("m.onnx"), ModelBytes(text)).ok());
    return Path("m.onnx");
  }
  std::string Read(const std::string& name) {
    std::ifstream file(root_ / name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // Of a file that must be JSON.
  JsonObject ReadJson(const std::string& name) {
    JsonObject object;
    const auto status = google::protobuf::util::JsonStringToMessage(Read(name), &object);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return object;
  }

  fs::path root_;
};

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

std::string ConvRelu(const std::string& shape) {
  return ModelText(15, FloatInput("x", shape) +
                           FloatsText("w", "8,8,3,3", std::vector<float>(8 * 8 * 9, 0.5f)) +
                           NodeText("Conv", "x,w", "c", "name: \"conv\"") +
                           NodeText("Relu", "c", "r", "name: \"relu\"") +
                           NodeText("Erf", "r", "y", "name: \"erf\"") + OutputText("y"));
}

// y holds the places of what is not zero in x, then their opposites.
std::string DataDependent() {
  return ModelText(15, FloatInput("x", "8") + NodeText("NonZero", "x", "i", "name: \"find\"") +
                           NodeText("Neg", "i", "y", "name: \"negate\"") + OutputText("y"));
}

std::vector<std::string> Quick(std::vector<std::string> args) {
  for (const char* more : {"--duration", "0", "--warm-up", "0"}) args.push_back(more);
  return args;
}

TEST_F(ProfileTest, SaysWhatRanAndAnswersInWords) {
  const std::string model = WriteModel(ConvRelu("1,8,9,9"));
  const auto [status, out] = Invoke(RunProfile, Quick({model, "--iterations", "3", "--json",
                                                       Path("p.json"), "--trace", Path("t.json")}));
  ASSERT_EQ(status, 0) << out;
  EXPECT_THAT(out,
              AllOf(HasSubstr("3 runs of x float[1,8,9,9] with 1 threads"),
                    HasSubstr("peak, measured now: "), HasSubstr("GFLOP/s"),
                    HasSubstr("Did fusion happen? Yes: "), HasSubstr("fused from conv"),
                    HasSubstr("What is the bottleneck? "), HasSubstr("Did anything fall back? ")));

  const JsonObject json = ReadJson("p.json");
  EXPECT_EQ(json.fields().at("runs").number_value(), 3);
  EXPECT_GT(json.fields().at("peak").struct_value().fields().at("gflops").number_value(), 0);
  double share = 0;
  bool convolution = false;
  for (const auto& value : json.fields().at("nodes").list_value().values()) {
    const auto& node = value.struct_value().fields();
    share += node.at("share").number_value();
    EXPECT_EQ(node.at("model_runs").number_value(), 3);
    EXPECT_LE(node.at("least_us").number_value(), node.at("median_us").number_value());
    for (const char* key : {"kernel", "provider", "layout", "bound_by"}) {
      EXPECT_NE(node.at(key).string_value(), "") << key;
    }
    if (node.at("operator").string_value() != "inferd::FusedConv") continue;
    convolution = true;
    EXPECT_GE(node.at("fused_from").list_value().values_size(), 2);
    EXPECT_GT(node.at("gflops").number_value(), 0);
    EXPECT_GT(node.at("gigabytes_per_second").number_value(), 0);
    EXPECT_GT(node.at("share_of_peak").number_value(), 0);
  }
  EXPECT_TRUE(convolution);
  EXPECT_NEAR(share, 1, 1e-6);

  const JsonObject trace = ReadJson("t.json");
  int complete = 0;
  for (const auto& value : trace.fields().at("traceEvents").list_value().values()) {
    const auto& event = value.struct_value().fields();
    if (event.at("ph").string_value() != "X") continue;
    ++complete;
    EXPECT_GE(event.at("dur").number_value(), 0);
    EXPECT_TRUE(event.contains("ts") && event.contains("tid") && event.contains("pid"));
    EXPECT_TRUE(event.at("args").struct_value().fields().contains("kernel"));
  }
  EXPECT_EQ(complete, json.fields().at("nodes").list_value().values_size());
}

TEST_F(ProfileTest, NodesOfBodiesHaveTheirOwnRows) {
  const std::string body = "attribute { name: \"then_branch\" type: GRAPH g { name: \"b\" " +
                           NodeText("Exp", "x", "t", "name: \"inner\"") + OutputText("t") +
                           "} } attribute { name: \"else_branch\" type: GRAPH g { name: \"e\" " +
                           NodeText("Neg", "x", "e", "name: \"other\"") + OutputText("e") + "} }";
  constexpr int kBool = 9;
  const std::string model = WriteModel(
      ModelText(15, InputText("c", kBool, "") + FloatInput("x", "4") +
                        NodeText("If", "c", "y", "name: \"choose\" " + body) + OutputText("y")));
  const auto [status, out] =
      Invoke(RunProfile, Quick({model, "--input", "c=zeros", "--json", Path("p.json")}));
  ASSERT_EQ(status, 0) << out;
  EXPECT_THAT(
      out, AllOf(HasSubstr("in choose (If), else_branch: other (Neg)"), Not(HasSubstr("inner"))));
  EXPECT_EQ(ReadJson("p.json").fields().at("nodes").list_value().values_size(), 2);
}

TEST_F(ProfileTest, WhatIsPlannedInTheCourseOfARunIsCovered) {
  const std::string model = WriteModel(DataDependent());
  EXPECT_THAT(Invoke(RunProfile, Quick({model})).second,
              AllOf(HasSubstr("find (NonZero)"), HasSubstr("negate (Neg)")));
  const auto [status, out] = Invoke(RunCheck, {model});
  EXPECT_EQ(status, 0);
  EXPECT_THAT(out, AllOf(HasSubstr("negate (Neg)"), HasSubstr("with random inputs"),
                         Not(HasSubstr("planned once its shapes are known"))));
}

TEST_F(ProfileTest, WrongArgumentsAreRefused) {
  const std::string model = WriteModel(ConvRelu("1,8,9,9"));
  EXPECT_EQ(Invoke(RunProfile, Quick({model, "--shape", "x=1x8x9"})).first, 1);
  EXPECT_EQ(Invoke(RunProfile, Quick({model, "--iterations", "0"})).first, 1);
  EXPECT_EQ(Invoke(RunProfile, Quick({Path("none.onnx")})).first, 1);
  EXPECT_EQ(Invoke(RunSweep, Quick({model, "--instances", "0"})).first, 1);
  EXPECT_EQ(Invoke(RunSweep, Quick({model, "--budget", "soon"})).first, 1);
}

TEST_F(ProfileTest, SweepCoversEverySize) {
  const std::string model = WriteModel(ConvRelu("N,8,9,9"));
  const auto [status, out] = Invoke(
      RunSweep, Quick({model, "--batch", "4,1,2", "--threads", "2", "--instances", "2", "--budget",
                       "1h", "--json", Path("s.json"), "--html", Path("s.html")}));
  ASSERT_EQ(status, 0) << out;
  EXPECT_THAT(out, AllOf(HasSubstr("2 instances of 2 threads each"), HasSubstr("P99 ms"),
                         HasSubstr("the largest batch that keeps P99 within 3.6e+06 ms: 4")));
  const JsonObject json = ReadJson("s.json");
  EXPECT_EQ(json.fields().at("largest_batch_within_budget").number_value(), 4);
  const auto& points = json.fields().at("points").list_value();
  ASSERT_EQ(points.values_size(), 3);
  for (int i = 0; i < 3; ++i) {
    const auto& point = points.values(i).struct_value().fields();
    EXPECT_EQ(point.at("batch").number_value(), 1 << i);
    EXPECT_GE(point.at("runs").number_value(), 2) << "one of each instance";
    EXPECT_GE(point.at("p99_ms").number_value(), point.at("p50_ms").number_value());
  }
  const std::string html = Read("s.html");
  EXPECT_THAT(html, AllOf(HasSubstr("<svg"), HasSubstr("</html>"), Not(HasSubstr("src=")),
                          Not(HasSubstr("href=")), Not(HasSubstr("http"))));
  for (int batch : {1, 2, 4}) {
    EXPECT_THAT(html, HasSubstr(absl::StrCat("data-batch=\"", batch, "\">", batch, "<")));
    EXPECT_THAT(html, HasSubstr(absl::StrCat("<tr><td>", batch, "</td>")));
  }
}

TEST_F(ProfileTest, SweepGoesOnAfterASizeThatFails) {
  const std::string model = WriteModel(ConvRelu("2,8,9,9"));
  const auto [status, out] =
      Invoke(RunSweep,
             Quick({model, "--batch", "1,4", "--json", Path("s.json"), "--html", Path("s.html")}));
  EXPECT_EQ(status, 1);
  EXPECT_THAT(out, AllOf(HasSubstr("1 "), HasSubstr("failed"),
                         HasSubstr("the model fixes its first dimension")));
  EXPECT_EQ(ReadJson("s.json").fields().at("points").list_value().values_size(), 2);
  EXPECT_THAT(Read("s.html"), HasSubstr("4 (failed)"));
}

TEST(BatchSweepTest, TheBudgetPicksTheLargestBatchThatKeepsIt) {
  BatchSweep sweep;
  for (int64_t batch : {1, 2, 4, 8}) {
    BatchPoint point;
    point.batch = batch;
    point.p99_ms = 2.0 * static_cast<double>(batch);
    sweep.points.push_back(point);
  }
  sweep.points[3].p99_ms = 1;
  sweep.points[3].error = "out of memory";
  EXPECT_EQ(LargestWithin(sweep), nullptr) << "there is no budget";
  sweep.budget_ms = 7;
  ASSERT_NE(LargestWithin(sweep), nullptr);
  EXPECT_EQ(LargestWithin(sweep)->batch, 2);
  sweep.budget_ms = 1;
  EXPECT_EQ(LargestWithin(sweep), nullptr);
  sweep.model = "<a & b>";
  EXPECT_THAT(SweepHtml(sweep), HasSubstr("&lt;a &amp; b&gt;"));
}

TEST(MachinePeakTest, IsMeasured) {
  const MachinePeak peak = MeasurePeak(2);
  EXPECT_EQ(peak.threads, 2);
  EXPECT_GT(peak.flops, 0);
  EXPECT_GT(peak.copy_bandwidth, 0);
  EXPECT_GT(peak.cached_copy_bandwidth, 0);
  EXPECT_NE(peak.instructions, "");
}

}  // namespace
}  // namespace inferd::engine
