// The share of time instances spent running, over the last seconds.
#pragma once

#include <array>
#include <cstdint>

#include "absl/time/time.h"

namespace inferd::scheduler {

// Busy time in one-second slots. O(kSeconds) at most. Not thread-safe.
class BusyWindow {
 public:
  static constexpr int64_t kSeconds = 10;

  void Add(absl::Time start, absl::Time end);
  // Busy time within the window that ends at `now`.
  absl::Duration Busy(absl::Time now) const;
  // Where that window begins.
  static absl::Time Begin(absl::Time now);

 private:
  struct Slot {
    int64_t second = -1;
    absl::Duration busy;
  };
  std::array<Slot, kSeconds + 1> slots_;
};

}  // namespace inferd::scheduler
