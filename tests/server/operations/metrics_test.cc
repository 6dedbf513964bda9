#include "server/operations/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/model_repository/fake_servable.h"

namespace inferd::server {
namespace {

using repository::FakeServable;
using repository::IndexEntry;
using repository::ModelState;
using repository::ModelVersion;
using ::testing::HasSubstr;
using ::testing::Not;

class FakeClock final : public scheduler::Clock {
 public:
  absl::Time Now() const override { return now; }
  absl::Time now = absl::FromUnixSeconds(1000);
};

class FakeModel final : public engine::Model {
 public:
  const std::vector<engine::TensorInfo>& inputs() const override { return none_; }
  const std::vector<engine::TensorInfo>& outputs() const override { return none_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  const engine::Graph& graph() const override { return graph_; }
  absl::StatusOr<std::unique_ptr<engine::Context>> NewContext(
      const engine::ContextOptions&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<std::vector<engine::NodeReport>> Report(absl::Span<const engine::Shape>,
                                                         int) override {
    return absl::UnimplementedError("");
  }
  engine::MemoryUse memory() const override { return use; }
  engine::MemoryUse use;

 private:
  std::vector<engine::TensorInfo> none_;
  std::vector<std::string> notes_;
  engine::Graph graph_;
};

class FakeRepository final : public repository::ModelRepository {
 public:
  void LoadAll() override {}
  absl::Status Load(const std::string&) override { return absl::OkStatus(); }
  absl::Status Unload(const std::string&, absl::Time) override { return absl::OkStatus(); }
  absl::StatusOr<std::shared_ptr<const ModelVersion>> Find(absl::string_view,
                                                           absl::string_view) const override {
    return absl::NotFoundError("");
  }
  std::vector<IndexEntry> Index() const override { return index; }
  std::vector<std::shared_ptr<const ModelVersion>> ReadyVersions() const override { return ready; }
  bool Ready() const override { return true; }
  void Shutdown(absl::Time) override {}

  std::vector<IndexEntry> index;
  std::vector<std::shared_ptr<const ModelVersion>> ready;
};

class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() {
    auto version = std::make_shared<ModelVersion>();
    version->name = "resnet";
    version->version = "3";
    version->config.latency_budget = absl::Milliseconds(20);
    version->model = model_;
    auto servable = std::make_shared<FakeServable>();
    servable->mutable_statistics().queue_depth = 5;
    servable->mutable_statistics().in_flight = 7;
    servable->mutable_statistics().instance_busy_ratio = 0.25;
    version->servable = servable;
    version->load_time = absl::Milliseconds(1500);
    model_->use = {.weight_bytes = 1000, .arena_bytes = 200, .output_bytes = 30};
    repository_.ready = {version};
    repository_.index = {{"broken", "1", ModelState::kUnavailable, "bad file"},
                         {"resnet", "3", ModelState::kReady, ""}};
    metrics_.SetRepository(&repository_);
  }
  ~MetricsTest() override { metrics_.SetRepository(nullptr); }

  void Answer(absl::Duration total, const absl::Status& status = absl::OkStatus(),
              Protocol protocol = Protocol::kGrpc) {
    RequestRecord record;
    record.protocol = protocol;
    record.model = "resnet";
    record.version = "3";
    record.model_known = true;
    record.status = &status;
    record.total = total;
    metrics_.OnRequest(record);
  }

  FakeClock clock_;
  std::shared_ptr<FakeModel> model_ = std::make_shared<FakeModel>();
  FakeRepository repository_;
  Metrics metrics_{clock_, "1.2.3"};
};

TEST_F(MetricsTest, TextHoldsWhatHappened) {
  const auto series = metrics_.SeriesOf("resnet", "3");
  for (int i = 0; i < 10; ++i) Answer(absl::Milliseconds(10));
  Answer(absl::Milliseconds(10), absl::OkStatus(), Protocol::kHttp);
  Answer(absl::Microseconds(5), absl::ResourceExhaustedError("full"));
  series->OnBatch(scheduler::CloseReason::kFull, 8, absl::Milliseconds(4));
  clock_.now += absl::Seconds(11);
  const std::string text = metrics_.Text();
  for (const char* line : {
           "inferd_requests_total{model=\"resnet\",version=\"3\",protocol=\"grpc\",code=\"OK\"} "
           "10\n",
           "inferd_requests_total{model=\"resnet\",version=\"3\",protocol=\"http\",code=\"OK\"} "
           "1\n",
           "protocol=\"grpc\",code=\"RESOURCE_EXHAUSTED\"} 1\n",
           "inferd_request_duration_seconds_count{model=\"resnet\",version=\"3\",protocol=\"grpc\"}"
           " 10\n",
           "inferd_request_duration_seconds_bucket{model=\"resnet\",version=\"3\",protocol="
           "\"grpc\",le=\"0.01\"} 10\n",
           "inferd_batch_size_bucket{model=\"resnet\",version=\"3\",le=\"8\"} 1\n",
           "inferd_batches_total{model=\"resnet\",version=\"3\",reason=\"full\"} 1\n",
           "inferd_requests_per_second{model=\"resnet\",version=\"3\"} 1\n",
           "inferd_queue_depth{model=\"resnet\",version=\"3\"} 5\n",
           "inferd_inflight_requests{model=\"resnet\",version=\"3\"} 7\n",
           "inferd_instance_busy_ratio{model=\"resnet\",version=\"3\"} 0.25\n",
           "inferd_model_memory_bytes{model=\"resnet\",version=\"3\",kind=\"weights\"} 1000\n",
           "inferd_model_peak_memory_bytes{model=\"resnet\",version=\"3\"} 1230\n",
           "inferd_model_load_seconds{model=\"resnet\",version=\"3\"} 1.5\n",
           "inferd_slo_attainment_ratio{model=\"resnet\",version=\"3\"} 1\n",
           "inferd_model_state{model=\"resnet\",version=\"3\",state=\"READY\"} 1\n",
           "inferd_model_state{model=\"broken\",version=\"1\",state=\"READY\"} 0\n",
           "inferd_model_state{model=\"broken\",version=\"1\",state=\"UNAVAILABLE\"} 1\n",
           "inferd_ready 1\n",
           "inferd_build_info{version=\"1.2.3\"} 1\n",
           "process_resident_memory_bytes ",
           "inferd_process_peak_memory_bytes ",
           "process_cpu_seconds_total ",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(MetricsTest, QuantilesOfTheWindow) {
  for (int i = 1; i <= 100; ++i) Answer(absl::Milliseconds(i));
  clock_.now += absl::Seconds(1);
  double p50 = 0, p99 = 0;
  const std::string text = metrics_.Text();
  const auto value = [&](const char* name) {
    const size_t at = text.find(absl::StrCat(name, "{model=\"resnet\",version=\"3\"} "));
    return at == std::string::npos ? -1 : std::atof(text.c_str() + text.find("} ", at) + 2);
  };
  p50 = value("\ninferd_request_p50_seconds");
  p99 = value("\ninferd_request_p99_seconds");
  EXPECT_NEAR(p50, 0.050, 0.004);
  EXPECT_NEAR(p99, 0.099, 0.007);
  EXPECT_NEAR(value("\ninferd_slo_attainment_ratio"), 0.20, 0.02);
  // Half a minute later it is all forgotten, whereas the histogram stays.
  for (int i = 0; i < 8; ++i) {
    clock_.now += kMetricsTick;
    metrics_.Tick();
  }
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("inferd_request_p99_seconds{model=\"resnet\",version=\"3\"} 0\n"));
  EXPECT_THAT(metrics_.Text(), HasSubstr("protocol=\"grpc\",code=\"OK\"} 100\n"));
}

TEST_F(MetricsTest, UnknownModelsMakeNoSeries) {
  const absl::Status not_found = absl::NotFoundError("");
  for (int i = 0; i < 100; ++i) {
    const std::string name = absl::StrCat("guess", i);
    RequestRecord record;
    record.model = name;
    record.status = &not_found;
    record.protocol = Protocol::kHttp;
    metrics_.OnRequest(record);
  }
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, Not(HasSubstr("guess")));
  EXPECT_THAT(text, HasSubstr("inferd_unknown_model_requests_total{protocol=\"http\"} 100\n"));
}

TEST_F(MetricsTest, PeakMemoryStaysWhenMemoryGoes) {
  metrics_.SeriesOf("resnet", "3");
  model_->use.arena_bytes = 5000;
  metrics_.Tick();
  model_->use.arena_bytes = 0;
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("inferd_model_peak_memory_bytes{model=\"resnet\",version=\"3\"} 6030\n"));
}

TEST_F(MetricsTest, SeriesOfVersionsThatAreGoneGo) {
  Answer(absl::Milliseconds(1));
  EXPECT_THAT(metrics_.Text(), HasSubstr("inferd_requests_total{model=\"resnet\""));
  repository_.ready.clear();
  repository_.index.clear();
  metrics_.Tick();
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("resnet")));
  Answer(absl::Milliseconds(1));  // routes to the old series are gone too
  EXPECT_THAT(metrics_.Text(),
              HasSubstr("model=\"resnet\",version=\"3\",protocol=\"grpc\",code=\"OK\"} 1\n"));
}

TEST_F(MetricsTest, PromtoolFindsNothing) {
  if (std::system("command -v promtool > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool (Debian package prometheus) is not installed";
  }
  metrics_.SeriesOf("odd \"name\"\\", "1");
  Answer(absl::Milliseconds(10));
  Answer(absl::Milliseconds(10), absl::InternalError("x"));
  const std::string path = ::testing::TempDir() + "metrics_test.txt";
  std::ofstream(path) << metrics_.Text();
  const std::string command = absl::StrCat("promtool check metrics < ", path, " 2>&1");
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  char buffer[1024];
  while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) said += buffer;
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(said, "");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace inferd::server
