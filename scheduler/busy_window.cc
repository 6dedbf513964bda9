#include "scheduler/busy_window.h"

#include <algorithm>

namespace inferd::scheduler {

void BusyWindow::Add(absl::Time start, absl::Time end) {
  const int64_t last = absl::ToUnixSeconds(end);
  int64_t second = std::max(absl::ToUnixSeconds(start), last - kSeconds);
  start = std::max(start, absl::FromUnixSeconds(second));
  for (; second <= last; ++second) {
    Slot& slot = slots_[second % slots_.size()];
    if (slot.second > second) continue;
    if (slot.second != second) slot = {second, absl::ZeroDuration()};
    const absl::Time slot_end = std::min(end, absl::FromUnixSeconds(second + 1));
    slot.busy += slot_end - start;
    start = slot_end;
  }
}

absl::Time BusyWindow::Begin(absl::Time now) {
  return absl::FromUnixSeconds(absl::ToUnixSeconds(now) - kSeconds + 1);
}

absl::Duration BusyWindow::Busy(absl::Time now) const {
  const int64_t first = absl::ToUnixSeconds(Begin(now));
  absl::Duration busy;
  for (const Slot& slot : slots_) {
    if (slot.second >= first) busy += slot.busy;
  }
  return busy;
}

}  // namespace inferd::scheduler
