#include "server/operations/metrics.h"

#include <bit>
#include <set>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "engine/device/thread_pool.h"

namespace inferd::server {
namespace {

unsigned RouteOfThread(size_t shards) {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned number = next.fetch_add(1, std::memory_order_relaxed);
  return number % shards;
}

int64_t TotalBytes(const repository::ModelVersion& version) {
  if (version.model == nullptr) return 0;
  const engine::MemoryUse use = version.model->memory();
  return use.weight_bytes + use.arena_bytes + use.output_bytes;
}

}  // namespace

Metrics::Metrics(scheduler::Clock& clock, std::string server_version)
    : clock_(clock),
      server_version_(std::move(server_version)),
      shards_(static_cast<int>(std::bit_ceil(
          static_cast<unsigned>(std::clamp(2 * engine::AvailableThreads(), 2, 16))))) {
  for (int i = 0; i < shards_; ++i) routes_.push_back(std::make_unique<RouteShard>());
}

Metrics::~Metrics() = default;

void Metrics::SetRepository(const repository::ModelRepository* repository) {
  absl::MutexLock lock(&mu_);
  repository_ = repository;
}

std::shared_ptr<ModelSeries> Metrics::SeriesOf(const std::string& model,
                                               const std::string& version) {
  absl::MutexLock lock(&mu_);
  std::shared_ptr<ModelSeries>& series = series_[{model, version}];
  if (series == nullptr) series = std::make_shared<ModelSeries>(shards_, clock_.Now());
  return series;
}

void Metrics::OnRequest(const RequestRecord& record) {
  if (!record.model_known) {
    const int code = record.status == nullptr ? 0 : static_cast<int>(record.status->code());
    unknown_model_[static_cast<int>(record.protocol)][code < kNumCodes ? code : 2].fetch_add(
        1, std::memory_order_relaxed);
    return;
  }
  RouteShard& shard = *routes_[RouteOfThread(routes_.size())];
  // A zero byte stands in no name, so the joined key is unique.
  const std::string key = absl::StrCat(record.model, absl::string_view("\0", 1), record.version);
  {
    absl::MutexLock lock(&shard.mu);
    if (const auto it = shard.by_name.find(key); it != shard.by_name.end()) {
      it->second->OnRequest(record);
      return;
    }
  }
  const std::shared_ptr<ModelSeries> series =
      SeriesOf(std::string(record.model), std::string(record.version));
  series->OnRequest(record);
  absl::MutexLock lock(&shard.mu);
  shard.by_name.try_emplace(key, series);
}

int64_t Metrics::PeakBytes(const SeriesKey& key, int64_t now) const {
  absl::MutexLock lock(&mu_);
  int64_t& peak = peak_bytes_[key];
  peak = std::max(peak, now);
  return peak;
}

void Metrics::Tick() {
  const absl::Time now = clock_.Now();
  const repository::ModelRepository* repository = nullptr;
  std::vector<std::shared_ptr<ModelSeries>> all;
  {
    absl::MutexLock lock(&mu_);
    repository = repository_;
    for (const auto& [key, series] : series_) all.push_back(series);
  }
  for (const auto& series : all) series->Tick(now, kMetricsWindow);
  all.clear();
  if (repository == nullptr) return;

  for (const auto& version : repository->ReadyVersions()) {
    PeakBytes({version->name, version->version}, TotalBytes(*version));
  }
  std::set<SeriesKey> known;
  std::set<std::string> models;
  for (repository::IndexEntry& entry : repository->Index()) {
    models.insert(entry.name);
    known.emplace(std::move(entry.name), std::move(entry.version));
  }
  std::vector<SeriesKey> gone;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [key, series] : series_) {
      // Version "": refused before a version was chosen; lives as long as the model.
      const bool alive = key.second.empty() ? models.contains(key.first) : known.contains(key);
      if (!alive) gone.push_back(key);
    }
    for (const SeriesKey& key : gone) {
      series_.erase(key);
      peak_bytes_.erase(key);
    }
  }
  if (gone.empty()) return;
  for (const auto& route : routes_) {
    absl::MutexLock lock(&route->mu);
    for (const auto& [model, version] : gone) {
      route->by_name.erase(absl::StrCat(model, absl::string_view("\0", 1), version));
    }
  }
}

}  // namespace inferd::server
