// How long a batch of n rows takes, learned from the batches that ran.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"

namespace inferd::scheduler {

// Compute time by batch size: an exponentially weighted mean per size that has run, joined by
// linear interpolation and kept plausible (a larger batch never takes less time than a smaller
// one, nor much more than running the smaller one repeatedly; where estimates disagree the
// fresher one wins). When several batches in a row are far off in the same direction the machine
// has changed, and all estimates are scaled at once. The error of past predictions gives the margin
// that turns a mean into a bound. Not thread-safe.
class LatencyModel {
 public:
  LatencyModel();

  // A batch of `rows` >= 1 took `time`.
  void Observe(int64_t rows, absl::Duration time);

  // False until the first observation; then every estimate is zero.
  bool known() const { return !points_.empty(); }
  absl::Duration Mean(int64_t rows) const;
  double MeanNanos(int64_t rows) const;
  // Bound that about 99% of batches of this size stay under: Mean * margin.
  absl::Duration Upper(int64_t rows) const;
  // Half way between the two: what to plan with where being late by a little costs little.
  absl::Duration Likely(int64_t rows) const;
  double margin() const { return margin_; }
  // Mean by every size that has run.
  std::map<int64_t, absl::Duration> Estimates() const;

 private:
  struct Point {
    int64_t rows = 0;
    int64_t samples = 0;
    double mean = 0;  // ns
  };
  void UpdateMargin(double ratio);
  // Starts over from scaled estimates when the machine has changed its speed.
  void DetectChange(double ratio);

  std::vector<Point> points_;  // ascending in rows; means do not decrease
  // Actual over predicted of the latest batches, a ring and the same values sorted.
  std::vector<float> ratios_;
  std::vector<float> sorted_ratios_;
  size_t next_ratio_ = 0;
  int slower_in_a_row_ = 0;
  int faster_in_a_row_ = 0;
  double margin_;
};

}  // namespace inferd::scheduler
