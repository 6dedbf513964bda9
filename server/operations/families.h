// Building blocks of Prometheus metric families.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

#include "server/operations/model_series.h"

namespace inferd::server {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Family {
 public:
  Family(std::string name, std::string help, prometheus::MetricType type);

  void AddCounter(const Labels& labels, double value);
  void AddGauge(const Labels& labels, double value);
  // `scale` turns a bound into the unit of the family.
  template <size_t N>
  void AddHistogram(const Labels& labels, const std::array<int64_t, N>& bounds, double scale,
                    const HistogramTotals<N>& totals);

  // Appends the family unless it is empty.
  void MoveTo(std::vector<prometheus::MetricFamily>& families) &&;

 private:
  prometheus::ClientMetric& Add(const Labels& labels);
  prometheus::MetricFamily family_;
};

// Memory, CPU, descriptors and start time of this process, from /proc.
void CollectProcess(std::vector<prometheus::MetricFamily>& families);

}  // namespace inferd::server
