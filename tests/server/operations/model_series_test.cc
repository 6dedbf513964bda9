#include "server/operations/model_series.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace inferd::server {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);
constexpr absl::Duration kWindow = absl::Seconds(30);

RequestRecord Answered(absl::Duration total) {
  RequestRecord record;
  record.protocol = Protocol::kGrpc;
  record.total = total;
  record.request_bytes = 10;
  record.response_bytes = 20;
  return record;
}
uint64_t CountOf(const FineCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

TEST(ModelSeriesTest, CountsFromManyThreadsAddUp) {
  ModelSeries series(4, kStart);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const absl::Status refused = absl::ResourceExhaustedError("full");
      for (int i = 0; i < 1000; ++i) {
        series.OnRequest(Answered(absl::Milliseconds(3)));
        RequestRecord record = Answered(absl::Milliseconds(1));
        record.status = &refused;
        series.OnRequest(record);
        scheduler::RequestTiming timing;
        timing.queue = absl::Milliseconds(2);
        timing.compute_infer = absl::Milliseconds(15);
        series.OnRequestDone(absl::OkStatus(), timing, absl::Milliseconds(3));
        series.OnBatch(scheduler::CloseReason::kIdle, 3, absl::Milliseconds(1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ModelTotals totals = series.Totals();
  const ModelTotals::PerProtocol& grpc = totals.protocols[static_cast<int>(Protocol::kGrpc)];
  EXPECT_EQ(grpc.codes[0], 8000u);
  EXPECT_EQ(grpc.codes[static_cast<int>(absl::StatusCode::kResourceExhausted)], 8000u);
  EXPECT_EQ(grpc.duration.buckets[BucketOf(kDurationBounds, 3'000'000)], 8000u);
  EXPECT_NEAR(grpc.duration.sum, 24, 1e-6);
  EXPECT_EQ(grpc.request_bytes, 160'000u);
  EXPECT_EQ(totals.protocols[static_cast<int>(Protocol::kHttp)].codes[0], 0u);
  EXPECT_EQ(totals.queue.buckets[BucketOf(kDurationBounds, 2'000'000)], 8000u);
  EXPECT_NEAR(totals.compute.sum, 120, 1e-6);
  EXPECT_EQ(totals.batch_size.buckets[BucketOf(kBatchBounds, 3)], 8000u);
  EXPECT_EQ(totals.batch_size.sum, 24'000);
  EXPECT_EQ(totals.close_reasons[static_cast<int>(scheduler::CloseReason::kIdle)], 8000u);
}

TEST(ModelSeriesTest, WindowForgets) {
  ModelSeries series(2, kStart);
  for (int i = 0; i < 100; ++i) series.OnRequest(Answered(absl::Milliseconds(100)));
  EXPECT_EQ(CountOf(series.Window(kStart + absl::Seconds(3), kWindow).durations), 100u);
  EXPECT_EQ(series.Window(kStart + absl::Seconds(3), kWindow).length, absl::Seconds(3));
  for (int s = 5; s <= 60; s += 5) {
    series.OnRequest(Answered(absl::Milliseconds(1)));
    series.Tick(kStart + absl::Seconds(s), kWindow);
  }
  const WindowTotals window = series.Window(kStart + absl::Seconds(62), kWindow);
  EXPECT_EQ(window.length, absl::Seconds(32));
  EXPECT_EQ(CountOf(window.durations), 6u);  // those of seconds 35 to 60
  EXPECT_LT(FineQuantile(window.durations, 0.99), 0.002);
}

TEST(ModelSeriesTest, RefusalsDoNotFlatterTheLatency) {
  ModelSeries series(2, kStart);
  const absl::Status refused = absl::ResourceExhaustedError("full");
  series.OnRequest(Answered(absl::Milliseconds(50)));
  for (int i = 0; i < 100; ++i) {
    RequestRecord record = Answered(absl::Microseconds(10));
    record.status = &refused;
    series.OnRequest(record);
  }
  const WindowTotals window = series.Window(kStart + absl::Seconds(1), kWindow);
  EXPECT_NEAR(FineQuantile(window.durations, 0.5), 0.050, 0.004);
}

}  // namespace
}  // namespace inferd::server
