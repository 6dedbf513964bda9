// What `inferplan sweep` found: latency and throughput by batch size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inferd::engine {

struct BatchPoint {
  int64_t batch = 1;
  std::string error;  // not empty: this size does not run, and the figures mean nothing
  int64_t runs = 0;   // of all instances
  double p50_ms = 0, p99_ms = 0, mean_ms = 0;
  double rows_per_second = 0;  // of all instances
};

struct BatchSweep {
  std::string model;
  int threads = 1;    // of each instance
  int instances = 1;  // contexts that run at the same time
  std::optional<double> budget_ms;
  std::vector<BatchPoint> points;
};

// The point with the largest batch whose P99 keeps the budget, or null.
const BatchPoint* LargestWithin(const BatchSweep& sweep);

std::string SweepTable(const BatchSweep& sweep);
std::string SweepJson(const BatchSweep& sweep);
// One page with the charts as inline SVG; it loads nothing.
std::string SweepHtml(const BatchSweep& sweep);

}  // namespace inferd::engine
