// What a scrape sees.
#include <prometheus/text_serializer.h>

#include <array>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/operations/families.h"
#include "server/operations/metrics.h"

namespace inferd::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

Labels With(Labels labels, const char* name, std::string value) {
  labels.emplace_back(name, std::move(value));
  return labels;
}

std::string CodeName(int code) {
  return code == 0 ? "OK" : absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

// Families fed by requests.
struct RequestFamilies {
  Family requests{"inferd_requests_total",
                  "Inference requests answered, by protocol and status code.", MetricType::Counter};
  Family duration{"inferd_request_duration_seconds",
                  "Time from receiving a request to handing over its answer, code OK.",
                  MetricType::Histogram};
  Family queue{"inferd_queue_duration_seconds", "Time requests waited for their batch to start.",
               MetricType::Histogram};
  Family compute{"inferd_compute_duration_seconds",
                 "Time requests spent in execution, gathering and splitting included.",
                 MetricType::Histogram};
  Family batch{"inferd_batch_size", "Rows of each batch that was run.", MetricType::Histogram};
  Family closes{"inferd_batches_total", "Executed batches, by the reason they were closed.",
                MetricType::Counter};
  Family received{"inferd_received_bytes_total", "Bytes of request bodies.", MetricType::Counter};
  Family sent{"inferd_sent_bytes_total", "Bytes of response bodies.", MetricType::Counter};
  Family p50{"inferd_request_p50_seconds", "Median request duration of the last 30 seconds.",
             MetricType::Gauge};
  Family p90{"inferd_request_p90_seconds",
             "90th percentile of the request duration of the last 30 seconds.", MetricType::Gauge};
  Family p99{"inferd_request_p99_seconds",
             "99th percentile of the request duration of the last 30 seconds.", MetricType::Gauge};
  Family rate{"inferd_requests_per_second",
              "Requests answered with OK per second over the last 30 seconds.", MetricType::Gauge};

  void Add(const Labels& model, const ModelTotals& totals, const WindowTotals& window) {
    for (int p = 0; p < kNumProtocols; ++p) {
      const ModelTotals::PerProtocol& protocol = totals.protocols[p];
      const Labels labels =
          With(model, "protocol", std::string(ProtocolName(static_cast<Protocol>(p))));
      for (int code = 0; code < kNumCodes; ++code) {
        // OK is there from the start: a counter that appears at 1 hides its first increase.
        if (code == 0 || protocol.codes[code] > 0) {
          requests.AddCounter(With(labels, "code", CodeName(code)),
                              static_cast<double>(protocol.codes[code]));
        }
      }
      duration.AddHistogram(labels, kDurationBounds, 1e-9, protocol.duration);
      received.AddCounter(labels, static_cast<double>(protocol.request_bytes));
      sent.AddCounter(labels, static_cast<double>(protocol.response_bytes));
    }
    queue.AddHistogram(model, kDurationBounds, 1e-9, totals.queue);
    compute.AddHistogram(model, kDurationBounds, 1e-9, totals.compute);
    batch.AddHistogram(model, kBatchBounds, 1, totals.batch_size);
    for (int r = 0; r < scheduler::kNumCloseReasons; ++r) {
      closes.AddCounter(
          With(model, "reason",
               std::string(scheduler::CloseReasonName(static_cast<scheduler::CloseReason>(r)))),
          static_cast<double>(totals.close_reasons[r]));
    }
    double count = 0;
    for (uint64_t n : window.durations) count += static_cast<double>(n);
    const double seconds = absl::ToDoubleSeconds(window.length);
    rate.AddGauge(model, seconds > 0 ? count / seconds : 0);
    p50.AddGauge(model, FineQuantile(window.durations, 0.50));
    p90.AddGauge(model, FineQuantile(window.durations, 0.90));
    p99.AddGauge(model, FineQuantile(window.durations, 0.99));
  }

  void MoveTo(std::vector<MetricFamily>& families) && {
    for (Family* family : {&requests, &duration, &queue, &compute, &batch, &closes, &received,
                           &sent, &p50, &p90, &p99, &rate}) {
      std::move(*family).MoveTo(families);
    }
  }
};

// Families read from what is loaded.
struct VersionFamilies {
  Family depth{"inferd_queue_depth", "Requests waiting in the queue.", MetricType::Gauge};
  Family queued{"inferd_queue_bytes", "Input bytes waiting in the queue.", MetricType::Gauge};
  Family in_flight{"inferd_inflight_requests", "Requests waiting or running.", MetricType::Gauge};
  Family busy{"inferd_instance_busy_ratio",
              "Share of instance time spent running over the last seconds, 0 to 1.",
              MetricType::Gauge};
  Family memory{"inferd_model_memory_bytes",
                "Memory of a model: weights, arena (activations of all instances), outputs.",
                MetricType::Gauge};
  Family peak{"inferd_model_peak_memory_bytes",
              "Largest memory of a model seen by a scrape or the five-second sampling.",
              MetricType::Gauge};
  Family load{"inferd_model_load_seconds", "Time the last load of a model took, warm-up included.",
              MetricType::Gauge};
  Family attainment{"inferd_slo_attainment_ratio",
                    "Share of the last 30 seconds' OK answers within latency_budget, 0 to 1.",
                    MetricType::Gauge};

  void Add(const Labels& model, const repository::ModelVersion& version) {
    if (version.servable != nullptr) {
      const scheduler::ServableStatistics now = version.servable->statistics();
      depth.AddGauge(model, static_cast<double>(now.queue_depth));
      queued.AddGauge(model, static_cast<double>(now.queue_bytes));
      in_flight.AddGauge(model, static_cast<double>(now.in_flight));
      busy.AddGauge(model, now.instance_busy_ratio);
    }
    if (version.model != nullptr) {
      const engine::MemoryUse use = version.model->memory();
      memory.AddGauge(With(model, "kind", "weights"), static_cast<double>(use.weight_bytes));
      memory.AddGauge(With(model, "kind", "arena"), static_cast<double>(use.arena_bytes));
      memory.AddGauge(With(model, "kind", "outputs"), static_cast<double>(use.output_bytes));
    }
    load.AddGauge(model, absl::ToDoubleSeconds(version.load_time));
  }

  void MoveTo(std::vector<MetricFamily>& families) && {
    for (Family* family :
         {&depth, &queued, &in_flight, &busy, &memory, &peak, &load, &attainment}) {
      std::move(*family).MoveTo(families);
    }
  }
};

void CollectStates(const repository::ModelRepository& repository,
                   std::vector<MetricFamily>& families) {
  using repository::ModelState;
  constexpr std::array kStates = {ModelState::kUnknown, ModelState::kLoading, ModelState::kReady,
                                  ModelState::kUnloading, ModelState::kUnavailable};
  Family state("inferd_model_state", "1 for the state a model version is in, 0 for the others.",
               MetricType::Gauge);
  for (const repository::IndexEntry& entry : repository.Index()) {
    const Labels model = {{"model", entry.name}, {"version", entry.version}};
    for (ModelState s : kStates) {
      state.AddGauge(With(model, "state", std::string(repository::ModelStateName(s))),
                     entry.state == s ? 1 : 0);
    }
  }
  std::move(state).MoveTo(families);
  Family ready("inferd_ready", "1 when the server's readiness check succeeds.", MetricType::Gauge);
  ready.AddGauge({}, repository.Ready() ? 1 : 0);
  std::move(ready).MoveTo(families);
}

}  // namespace

std::vector<MetricFamily> Metrics::Collect() const {
  const absl::Time now = clock_.Now();
  const repository::ModelRepository* repository = nullptr;
  std::vector<std::pair<SeriesKey, std::shared_ptr<ModelSeries>>> all;
  {
    absl::MutexLock lock(&mu_);
    repository = repository_;
    all.assign(series_.begin(), series_.end());
  }
  std::vector<MetricFamily> families;
  RequestFamilies requests;
  for (const auto& [key, series] : all) {
    requests.Add({{"model", key.first}, {"version", key.second}}, series->Totals(),
                 series->Window(now, kMetricsWindow));
  }
  std::move(requests).MoveTo(families);

  Family unknown("inferd_unknown_model_requests_total",
                 "Inference requests for a model or version that does not exist.",
                 MetricType::Counter);
  for (int p = 0; p < kNumProtocols; ++p) {
    uint64_t count = 0;
    for (const auto& code : unknown_model_[p]) count += code.load(std::memory_order_relaxed);
    unknown.AddCounter({{"protocol", std::string(ProtocolName(static_cast<Protocol>(p)))}},
                       static_cast<double>(count));
  }
  std::move(unknown).MoveTo(families);

  if (repository != nullptr) {
    VersionFamilies versions;
    for (const auto& version : repository->ReadyVersions()) {
      const SeriesKey key{version->name, version->version};
      const Labels model = {{"model", key.first}, {"version", key.second}};
      versions.Add(model, *version);
      if (version->model != nullptr) {
        const engine::MemoryUse use = version->model->memory();
        versions.peak.AddGauge(
            model, static_cast<double>(
                       PeakBytes(key, use.weight_bytes + use.arena_bytes + use.output_bytes)));
      }
      if (!version->config.latency_budget.has_value()) continue;
      for (const auto& [series_key, series] : all) {
        if (series_key != key) continue;
        versions.attainment.AddGauge(
            model, FineShareWithin(series->Window(now, kMetricsWindow).durations,
                                   absl::ToDoubleSeconds(*version->config.latency_budget)));
      }
    }
    std::move(versions).MoveTo(families);
    CollectStates(*repository, families);
  }
  CollectProcess(families);
  Family build("inferd_build_info", "Always 1; the version is a label.", MetricType::Gauge);
  build.AddGauge({{"version", server_version_}}, 1);
  std::move(build).MoveTo(families);
  return families;
}

std::string Metrics::Text() const {
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, Collect());
  return out.str();
}

}  // namespace inferd::server
