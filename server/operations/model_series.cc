#include "server/operations/model_series.h"

namespace inferd::server {
namespace {

void Increment(std::atomic<uint64_t>& count, uint64_t by = 1) {
  count.fetch_add(by, std::memory_order_relaxed);
}
uint64_t Read(const std::atomic<uint64_t>& count) { return count.load(std::memory_order_relaxed); }

int CodeIndex(const absl::Status& status) {
  const int code = static_cast<int>(status.code());
  return code >= 0 && code < kNumCodes ? code : static_cast<int>(absl::StatusCode::kUnknown);
}

// Numbers threads as they come, so that few share a shard.
unsigned ThreadNumber() {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

}  // namespace

template <size_t N>
void ModelSeries::Histogram<N>::Add(const std::array<int64_t, N>& bounds, int64_t value) {
  Increment(buckets[BucketOf(bounds, value)]);
  sum.fetch_add(value, std::memory_order_relaxed);
}

template <size_t N>
void ModelSeries::Histogram<N>::AddTo(HistogramTotals<N>& totals, double scale) const {
  for (size_t i = 0; i <= N; ++i) totals.buckets[i] += Read(buckets[i]);
  totals.sum += static_cast<double>(sum.load(std::memory_order_relaxed)) * scale;
}

ModelSeries::ModelSeries(int shards, absl::Time now) {
  for (int i = 0; i < shards; ++i) shards_.push_back(std::make_unique<Shard>());
  points_.push_back({now, std::make_shared<const FineCounts>()});
}

ModelSeries::Shard& ModelSeries::ShardOfThread() {
  return *shards_[ThreadNumber() & (shards_.size() - 1)];
}

void ModelSeries::OnRequest(const RequestRecord& record) {
  Shard& shard = ShardOfThread();
  Shard::PerProtocol& protocol = shard.protocols[static_cast<int>(record.protocol)];
  const absl::Status ok;
  const absl::Status& status = record.status != nullptr ? *record.status : ok;
  Increment(protocol.codes[CodeIndex(status)]);
  Increment(protocol.request_bytes, record.request_bytes);
  Increment(protocol.response_bytes, record.response_bytes);
  if (!status.ok()) return;
  const int64_t ns = absl::ToInt64Nanoseconds(record.total);
  protocol.duration.Add(kDurationBounds, ns);
  Increment(shard.fine[FineBucketOf(ns)]);
}

void ModelSeries::OnRequestDone(const absl::Status& status, const scheduler::RequestTiming& timing,
                                absl::Duration) {
  if (!status.ok()) return;
  Shard& shard = ShardOfThread();
  shard.queue.Add(kDurationBounds, absl::ToInt64Nanoseconds(timing.queue));
  shard.compute.Add(kDurationBounds,
                    absl::ToInt64Nanoseconds(timing.compute_input + timing.compute_infer +
                                             timing.compute_output));
}

void ModelSeries::OnBatch(scheduler::CloseReason reason, int64_t rows, absl::Duration) {
  Shard& shard = ShardOfThread();
  Increment(shard.close_reasons[static_cast<int>(reason)]);
  shard.batch_size.Add(kBatchBounds, rows);
}

ModelTotals ModelSeries::Totals() const {
  ModelTotals totals;
  for (const auto& shard : shards_) {
    for (int p = 0; p < kNumProtocols; ++p) {
      const Shard::PerProtocol& from = shard->protocols[p];
      ModelTotals::PerProtocol& to = totals.protocols[p];
      for (int c = 0; c < kNumCodes; ++c) to.codes[c] += Read(from.codes[c]);
      from.duration.AddTo(to.duration, 1e-9);
      to.request_bytes += Read(from.request_bytes);
      to.response_bytes += Read(from.response_bytes);
    }
    shard->queue.AddTo(totals.queue, 1e-9);
    shard->compute.AddTo(totals.compute, 1e-9);
    shard->batch_size.AddTo(totals.batch_size, 1);
    for (int r = 0; r < scheduler::kNumCloseReasons; ++r) {
      totals.close_reasons[r] += Read(shard->close_reasons[r]);
    }
  }
  return totals;
}

FineCounts ModelSeries::FineTotals() const {
  FineCounts counts{};
  for (const auto& shard : shards_) {
    for (int i = 0; i < kFineBuckets; ++i) counts[i] += Read(shard->fine[i]);
  }
  return counts;
}

void ModelSeries::Tick(absl::Time now, absl::Duration window) {
  const FineCounts counts = FineTotals();
  absl::MutexLock lock(&mu_);
  std::shared_ptr<const FineCounts> latest = points_.back().counts;
  if (*latest != counts) latest = std::make_shared<const FineCounts>(counts);
  points_.push_back({now, std::move(latest)});
  // One point of at least the window's age stays.
  while (points_.size() > 1 && now - points_[1].time >= window) points_.pop_front();
}

WindowTotals ModelSeries::Window(absl::Time now, absl::Duration window) const {
  WindowTotals result;
  result.durations = FineTotals();
  absl::MutexLock lock(&mu_);
  const Point* start = &points_.front();
  for (const Point& point : points_) {
    if (now - point.time >= window) start = &point;
  }
  // A counter read before a point's may trail it by what was written meanwhile.
  for (int i = 0; i < kFineBuckets; ++i) {
    result.durations[i] -= std::min(result.durations[i], (*start->counts)[i]);
  }
  result.length = now - start->time;
  return result;
}

}  // namespace inferd::server
