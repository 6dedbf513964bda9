// The daemon's metrics: what is counted, and how it is put into words for Prometheus.
//
// Names start with inferd_; the process's own figures keep their customary process_ names. Series
// of a model carry model and version; a model that does not exist never makes a series, so that
// clients cannot create series without bound.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "model_repository/repository.h"
#include "scheduler/clock.h"
#include "server/core/server_context.h"
#include "server/operations/model_series.h"

namespace prometheus {
struct MetricFamily;
}  // namespace prometheus

namespace inferd::server {

// The gauges of rate and quantiles look this far back, plus up to one tick.
inline constexpr absl::Duration kMetricsWindow = absl::Seconds(30);
// How often Tick wants to be called.
inline constexpr absl::Duration kMetricsTick = absl::Seconds(5);

// Thread-safe.
class Metrics {
 public:
  // `clock` outlives the metrics.
  Metrics(scheduler::Clock& clock, std::string server_version);
  ~Metrics();

  // Where state, memory and queues are read from at each scrape; until then they are left out.
  // Outlives the metrics, or is taken back with null.
  void SetRepository(const repository::ModelRepository* repository);

  // The series of a model version; a version loaded again goes on with its old series.
  std::shared_ptr<ModelSeries> SeriesOf(const std::string& model, const std::string& version);

  // For ServerContextOptions::on_request.
  void OnRequest(const RequestRecord& record);

  // Moves the window on, samples peak memory, forgets series of versions that are gone.
  void Tick();

  // The text exposition format, version 0.0.4.
  std::string Text() const;
  std::vector<prometheus::MetricFamily> Collect() const;

 private:
  using SeriesKey = std::pair<std::string, std::string>;
  // Per shard of threads: looked up under a lock of its own for each request.
  struct alignas(64) RouteShard {
    absl::Mutex mu;
    absl::flat_hash_map<std::string, std::shared_ptr<ModelSeries>> by_name ABSL_GUARDED_BY(mu);
  };
  int64_t PeakBytes(const SeriesKey& key, int64_t now) const;

  scheduler::Clock& clock_;
  const std::string server_version_;
  const int shards_;
  std::vector<std::unique_ptr<RouteShard>> routes_;
  std::array<std::array<std::atomic<uint64_t>, kNumCodes>, kNumProtocols> unknown_model_{};

  mutable absl::Mutex mu_;
  const repository::ModelRepository* repository_ ABSL_GUARDED_BY(mu_) = nullptr;
  absl::btree_map<SeriesKey, std::shared_ptr<ModelSeries>> series_ ABSL_GUARDED_BY(mu_);
  mutable absl::btree_map<SeriesKey, int64_t> peak_bytes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace inferd::server
