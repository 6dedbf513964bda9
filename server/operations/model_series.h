// Counters and histograms of one model version. Writing is sharded by thread: a few uncontended
// atomic additions, no lock, no lookup. Reading adds the shards up.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "scheduler/servable.h"
#include "server/core/server_context.h"
#include "server/operations/latency_buckets.h"

namespace inferd::server {

inline constexpr int kNumProtocols = 2;
inline constexpr int kNumCodes = 17;  // absl::StatusCode

// Sums of all shards. The last bucket of each histogram is +Inf; counts are not cumulative.
template <size_t N>
struct HistogramTotals {
  std::array<uint64_t, N + 1> buckets{};
  double sum = 0;  // seconds, or rows
};
struct ModelTotals {
  struct PerProtocol {
    std::array<uint64_t, kNumCodes> codes{};
    HistogramTotals<kDurationBounds.size()> duration;  // of requests answered with OK
    uint64_t request_bytes = 0;
    uint64_t response_bytes = 0;
  };
  std::array<PerProtocol, kNumProtocols> protocols;
  HistogramTotals<kDurationBounds.size()> queue;
  HistogramTotals<kDurationBounds.size()> compute;
  HistogramTotals<kBatchBounds.size()> batch_size;
  std::array<uint64_t, scheduler::kNumCloseReasons> close_reasons{};
};

// What happened in the last seconds.
struct WindowTotals {
  FineCounts durations{};  // of requests answered with OK
  absl::Duration length;
};

// As ServableObserver it is told about the scheduler's part of a request, by OnRequest about the
// whole. Thread-safe.
class ModelSeries final : public scheduler::ServableObserver {
 public:
  // `shards` is a power of two.
  ModelSeries(int shards, absl::Time now);

  void OnRequest(const RequestRecord& record);
  void OnRequestDone(const absl::Status& status, const scheduler::RequestTiming& timing,
                     absl::Duration total) override;
  void OnBatch(scheduler::CloseReason reason, int64_t rows, absl::Duration compute) override;

  ModelTotals Totals() const;

  // Remembers the present counts as a point the window may start at. Call every few seconds.
  void Tick(absl::Time now, absl::Duration window);
  // Since the newest remembered point that is at least `window` old, or the oldest there is.
  WindowTotals Window(absl::Time now, absl::Duration window) const;

 private:
  using Count = std::atomic<uint64_t>;
  template <size_t N>
  struct Histogram {
    std::array<Count, N + 1> buckets{};
    std::atomic<int64_t> sum{0};  // nanoseconds, or rows
    void Add(const std::array<int64_t, N>& bounds, int64_t value);
    void AddTo(HistogramTotals<N>& totals, double scale) const;
  };
  struct alignas(64) Shard {
    struct PerProtocol {
      std::array<Count, kNumCodes> codes{};
      Histogram<kDurationBounds.size()> duration;
      Count request_bytes{0};
      Count response_bytes{0};
    };
    std::array<PerProtocol, kNumProtocols> protocols;
    Histogram<kDurationBounds.size()> queue;
    Histogram<kDurationBounds.size()> compute;
    Histogram<kBatchBounds.size()> batch_size;
    std::array<Count, scheduler::kNumCloseReasons> close_reasons{};
    std::array<Count, kFineBuckets> fine{};
  };
  struct Point {
    absl::Time time;
    std::shared_ptr<const FineCounts> counts;  // shared while nothing happens
  };

  Shard& ShardOfThread();
  FineCounts FineTotals() const;

  std::vector<std::unique_ptr<Shard>> shards_;
  mutable absl::Mutex mu_;
  std::deque<Point> points_ ABSL_GUARDED_BY(mu_);
};

}  // namespace inferd::server
