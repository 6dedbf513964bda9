#include "server/operations/families.h"

#include <limits>

namespace inferd::server {

Family::Family(std::string name, std::string help, prometheus::MetricType type) {
  family_.name = std::move(name);
  family_.help = std::move(help);
  family_.type = type;
}

prometheus::ClientMetric& Family::Add(const Labels& labels) {
  prometheus::ClientMetric& metric = family_.metric.emplace_back();
  for (const auto& [name, value] : labels) {
    prometheus::ClientMetric::Label& label = metric.label.emplace_back();
    label.name = name;
    label.value = value;
  }
  return metric;
}

void Family::AddCounter(const Labels& labels, double value) { Add(labels).counter.value = value; }
void Family::AddGauge(const Labels& labels, double value) { Add(labels).gauge.value = value; }

template <size_t N>
void Family::AddHistogram(const Labels& labels, const std::array<int64_t, N>& bounds, double scale,
                          const HistogramTotals<N>& totals) {
  prometheus::ClientMetric::Histogram& histogram = Add(labels).histogram;
  uint64_t cumulative = 0;
  for (size_t i = 0; i <= N; ++i) {
    cumulative += totals.buckets[i];
    prometheus::ClientMetric::Bucket& bucket = histogram.bucket.emplace_back();
    bucket.cumulative_count = cumulative;
    bucket.upper_bound =
        i < N ? static_cast<double>(bounds[i]) * scale : std::numeric_limits<double>::infinity();
  }
  histogram.sample_count = cumulative;
  histogram.sample_sum = totals.sum;
}
template void Family::AddHistogram(const Labels&, const std::array<int64_t, 16>&, double,
                                   const HistogramTotals<16>&);
template void Family::AddHistogram(const Labels&, const std::array<int64_t, 10>&, double,
                                   const HistogramTotals<10>&);

void Family::MoveTo(std::vector<prometheus::MetricFamily>& families) && {
  if (!family_.metric.empty()) families.push_back(std::move(family_));
}

}  // namespace inferd::server
