#include "clients/inferctl/load_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <thread>

#include "absl/synchronization/mutex.h"

namespace inferd::client {
namespace {

// Answers from a thread of its own, so that completions come from elsewhere as with gRPC; keeps
// count of how many requests were unanswered at once.
class FakeClient final : public Client {
 public:
  explicit FakeClient(int fail_every = 0) : fail_every_(fail_every), thread_([this] { Serve(); }) {}
  ~FakeClient() override {
    {
      absl::MutexLock lock(&mutex_);
      stop_ = true;
    }
    thread_.join();
  }

  absl::StatusOr<bool> ServerLive() override { return true; }
  absl::StatusOr<bool> ServerReady() override { return true; }
  absl::StatusOr<bool> ModelReady(const std::string&, const std::string&) override { return true; }
  absl::StatusOr<ServerMetadata> GetServerMetadata() override { return ServerMetadata{}; }
  absl::StatusOr<ModelMetadata> GetModelMetadata(const std::string&, const std::string&) override {
    return ModelMetadata{};
  }
  absl::StatusOr<std::vector<ModelStatistics>> GetStatistics(const std::string&,
                                                             const std::string&) override {
    return std::vector<ModelStatistics>{};
  }
  absl::StatusOr<std::vector<ModelIndexEntry>> GetRepositoryIndex() override {
    return std::vector<ModelIndexEntry>{};
  }
  absl::Status LoadModel(const std::string&) override { return absl::OkStatus(); }
  absl::Status UnloadModel(const std::string&) override { return absl::OkStatus(); }
  absl::StatusOr<InferResult> Infer(const InferRequest&) override { return InferResult{}; }
  std::shared_ptr<const Prepared> Prepare(const InferRequest&) override { return nullptr; }
  void InferAsync(std::shared_ptr<const Prepared>, bool,
                  absl::AnyInvocable<void(absl::StatusOr<InferResult>)> done) override {
    absl::MutexLock lock(&mutex_);
    queue_.push_back(std::move(done));
    most_ = std::max(most_, queue_.size());
  }

  size_t most_outstanding() {
    absl::MutexLock lock(&mutex_);
    return most_;
  }

 private:
  void Serve() {
    int64_t count = 0;
    while (true) {
      std::deque<absl::AnyInvocable<void(absl::StatusOr<InferResult>)>> batch;
      {
        absl::MutexLock lock(&mutex_);
        auto some = [this] { return stop_ || !queue_.empty(); };
        mutex_.Await(absl::Condition(&some));
        if (queue_.empty()) return;
        batch.swap(queue_);
      }
      for (auto& done : batch) {
        if (fail_every_ > 0 && ++count % fail_every_ == 0) {
          done(absl::ResourceExhaustedError("full"));
        } else {
          done(InferResult{});
        }
      }
    }
  }

  const int fail_every_;
  absl::Mutex mutex_;
  bool stop_ = false;
  size_t most_ = 0;
  std::deque<absl::AnyInvocable<void(absl::StatusOr<InferResult>)>> queue_;
  std::thread thread_;
};

TEST(LoadGenerator, ClosedLoopKeepsItsConcurrency) {
  FakeClient client;
  const LoadResult result = GenerateLoad(
      client, nullptr, {.concurrency = 4, .warmup = {}, .duration = absl::Milliseconds(100)});
  EXPECT_GT(result.ok, 0);
  EXPECT_TRUE(result.errors.empty());
  EXPECT_EQ(result.latencies.size(), static_cast<size_t>(result.ok));
  EXPECT_LE(client.most_outstanding(), 4u);
  EXPECT_LE(result.Quantile(0.5), result.Quantile(0.99));
}

TEST(LoadGenerator, OpenLoopArrivesAtItsRateWhateverTheAnswers) {
  FakeClient client;
  const LoadResult result = GenerateLoad(
      client, nullptr, {.rate = 2000, .warmup = {}, .duration = absl::Milliseconds(500)});
  // 1000 arrivals expected; ten standard deviations of a Poisson count are allowed.
  EXPECT_NEAR(static_cast<double>(result.ok + result.dropped), 1000, 320);
  EXPECT_GT(result.completed, 0);
  EXPECT_DOUBLE_EQ(result.Throughput(), static_cast<double>(result.completed) / 0.5);
}

TEST(LoadGenerator, ErrorsAreCountedByCode) {
  FakeClient client(/*fail_every=*/2);
  const LoadResult result = GenerateLoad(
      client, nullptr, {.concurrency = 2, .warmup = {}, .duration = absl::Milliseconds(100)});
  ASSERT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(result.errors.begin()->first, "RESOURCE_EXHAUSTED");
  EXPECT_GT(result.errors.begin()->second, 0);
  EXPECT_THAT(result.first_error, testing::HasSubstr("full"));
}

TEST(LoadResult, QuantilesAreExact) {
  LoadResult result;
  for (int64_t i = 1; i <= 100; ++i) result.latencies.push_back(i);
  EXPECT_EQ(result.Quantile(0.5), absl::Nanoseconds(50));
  EXPECT_EQ(result.Quantile(0.99), absl::Nanoseconds(99));
  EXPECT_EQ(result.Quantile(0.999), absl::Nanoseconds(100));
  EXPECT_EQ(LoadResult().Quantile(0.5), absl::ZeroDuration());
}

}  // namespace
}  // namespace inferd::client
