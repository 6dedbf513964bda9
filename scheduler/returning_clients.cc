#include "scheduler/returning_clients.h"

#include <algorithm>

namespace inferd::scheduler {
namespace {

constexpr double kWeight = 0.25;
// Independent clients fill about this part of a window with a quarter of a batch; most of a batch
// returning within it is a pattern.
constexpr int kWindowPart = 4;
constexpr double kPatternShare = 0.6;
// Patience beyond the typical time.
constexpr double kPatience = 1.5;

}  // namespace

void ReturningClients::OnAnswered(absl::Time now, int64_t rows, absl::Duration compute) {
  if (answered_rows_ > 0) {
    const double share =
        std::min(1.0, static_cast<double>(returned_rows_) / static_cast<double>(answered_rows_));
    share_ += kWeight * (share - share_);
    if (returned_rows_ > 0) typical_ += kWeight * ((last_return_ - answered_) - typical_);
  }
  answered_ = now;
  answered_rows_ = rows;
  returned_rows_ = 0;
  observation_end_ = now + compute / kWindowPart;
  patience_end_ = std::min(observation_end_, now + kPatience * typical_);
}

void ReturningClients::OnArrival(absl::Time now, int64_t rows) {
  if (now > observation_end_) return;
  returned_rows_ += rows;
  last_return_ = now;
}

double ReturningClients::Expected(absl::Time now) const {
  if (now >= patience_end_ || share_ < kPatternShare) return 0;
  return std::max(
      0.0, share_ * static_cast<double>(answered_rows_) - static_cast<double>(returned_rows_));
}

absl::Duration ReturningClients::Remaining(absl::Time now) const {
  return std::max(absl::ZeroDuration(), typical_ - (now - answered_));
}

}  // namespace inferd::scheduler
