// The one clock. Policies never ask the system for the time; they are given it.
#pragma once

#include "absl/time/time.h"

namespace inferd::scheduler {

// Monotonic time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back, whatever happens to the wall clock.
  virtual absl::Time Now() const = 0;
};

// The process-wide monotonic clock, expressed as absl::Time since an arbitrary start.
Clock& MonotonicClock();

}  // namespace inferd::scheduler
