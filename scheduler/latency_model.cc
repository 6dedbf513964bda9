#include "scheduler/latency_model.h"

#include <algorithm>
#include <cmath>

namespace inferd::scheduler {
namespace {

constexpr double kInitialMargin = 1.25;
constexpr double kMinMargin = 1.05;
// Rare stalls of the machine must not make the model refuse everything.
constexpr double kMaxMargin = 4.0;
constexpr size_t kWindow = 256;
constexpr size_t kTrustedWindow = 32;
constexpr double kQuantile = 0.99;
constexpr double kMinWeight = 0.1;
// One outlier moves a settled mean by at most this factor of itself.
constexpr double kClip = 2.0;
// So many batches in a row that are off by this factor in one direction are no coincidence.
constexpr int kChangeRun = 6;
constexpr double kChangeFactor = 1.5;
// How much worse than linear in the batch size compute time may be believed to be.
constexpr double kMaxSuperlinearity = 1.5;

}  // namespace

LatencyModel::LatencyModel() : margin_(kInitialMargin) {
  ratios_.reserve(kWindow);
  sorted_ratios_.reserve(kWindow);
}

void LatencyModel::Observe(int64_t rows, absl::Duration time) {
  const double sample = std::max(1.0, absl::ToDoubleNanoseconds(time));
  if (known()) DetectChange(sample / MeanNanos(rows));
  auto it = std::lower_bound(points_.begin(), points_.end(), rows,
                             [](const Point& p, int64_t r) { return p.rows < r; });
  if (it == points_.end() || it->rows != rows) {
    if (known()) UpdateMargin(sample / MeanNanos(rows));
    it = points_.insert(it, Point{rows, 1, sample});
  } else {
    UpdateMargin(sample / it->mean);
    const double clipped =
        it->samples < 3 ? sample : std::clamp(sample, it->mean / kClip, it->mean * kClip);
    ++it->samples;
    it->mean += std::max(kMinWeight, 1.0 / it->samples) * (clipped - it->mean);
  }
  // The other sizes are older knowledge: bend them to this one.
  const double mean = it->mean;
  for (Point& p : points_) {
    const double low = p.rows > rows ? mean : 0;
    const double high = p.rows < rows ? mean
                        : p.rows > rows
                            ? mean * kMaxSuperlinearity * static_cast<double>(p.rows) / rows
                            : p.mean;
    const double bent = p.rows == rows ? p.mean : std::clamp(p.mean, low, high);
    if (bent != p.mean) {
      p.mean = bent;
      // Let it follow its own next samples quickly.
      p.samples = std::min<int64_t>(p.samples, 2);
    }
  }
}

void LatencyModel::DetectChange(double ratio) {
  slower_in_a_row_ = ratio > kChangeFactor ? slower_in_a_row_ + 1 : 0;
  faster_in_a_row_ = ratio < 1 / kChangeFactor ? faster_in_a_row_ + 1 : 0;
  if (slower_in_a_row_ < kChangeRun && faster_in_a_row_ < kChangeRun) return;
  slower_in_a_row_ = faster_in_a_row_ = 0;
  for (Point& p : points_) {
    p.mean *= ratio;
    p.samples = std::min<int64_t>(p.samples, 2);
  }
  // The errors belong to another machine, so to speak.
  ratios_.clear();
  sorted_ratios_.clear();
  next_ratio_ = 0;
}

void LatencyModel::UpdateMargin(double ratio) {
  const float value = static_cast<float>(ratio);
  if (ratios_.size() < kWindow) {
    ratios_.push_back(value);
  } else {
    sorted_ratios_.erase(
        std::lower_bound(sorted_ratios_.begin(), sorted_ratios_.end(), ratios_[next_ratio_]));
    ratios_[next_ratio_] = value;
    next_ratio_ = (next_ratio_ + 1) % kWindow;
  }
  sorted_ratios_.insert(std::upper_bound(sorted_ratios_.begin(), sorted_ratios_.end(), value),
                        value);
  const size_t n = sorted_ratios_.size();
  const size_t index = std::min(n - 1, static_cast<size_t>(std::floor(kQuantile * n)));
  double margin = sorted_ratios_[index];
  if (n < kTrustedWindow) {
    const double trust = static_cast<double>(n) / kTrustedWindow;
    margin = trust * margin + (1 - trust) * kInitialMargin;
  }
  margin_ = std::clamp(margin, kMinMargin, kMaxMargin);
}

double LatencyModel::MeanNanos(int64_t rows) const {
  if (points_.empty()) return 0;
  auto it = std::lower_bound(points_.begin(), points_.end(), rows,
                             [](const Point& p, int64_t r) { return p.rows < r; });
  // Below the smallest size that ran, assume no gain.
  if (it == points_.begin()) return it->mean;
  if (it != points_.end()) {
    const Point& low = *(it - 1);
    const double t = static_cast<double>(rows - low.rows) / (it->rows - low.rows);
    return low.mean + t * (it->mean - low.mean);
  }
  const Point& last = points_.back();
  const double proportional = last.mean * static_cast<double>(rows) / last.rows;
  if (points_.size() == 1) return proportional;
  const Point& before = points_[points_.size() - 2];
  const double slope = (last.mean - before.mean) / (last.rows - before.rows);
  return std::min(proportional, last.mean + slope * (rows - last.rows));
}

absl::Duration LatencyModel::Mean(int64_t rows) const {
  return absl::Nanoseconds(static_cast<int64_t>(MeanNanos(rows)));
}

absl::Duration LatencyModel::Upper(int64_t rows) const {
  return absl::Nanoseconds(static_cast<int64_t>(MeanNanos(rows) * margin_));
}

absl::Duration LatencyModel::Likely(int64_t rows) const {
  return absl::Nanoseconds(static_cast<int64_t>(MeanNanos(rows) * (1 + margin_) / 2));
}

std::map<int64_t, absl::Duration> LatencyModel::Estimates() const {
  std::map<int64_t, absl::Duration> estimates;
  for (const Point& p : points_) estimates[p.rows] = Mean(p.rows);
  return estimates;
}

}  // namespace inferd::scheduler
