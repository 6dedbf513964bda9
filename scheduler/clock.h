// The one clock. Policies never ask the system for the time; they are given it.
#pragma once

#include <functional>
#include <memory>

#include "absl/time/time.h"

namespace inferd::scheduler {

// Calls its callback at an instant. Thread-safe.
class Timer {
 public:
  // No callback runs after the destructor has returned, unless it is the callback itself that
  // destroys the timer.
  virtual ~Timer() = default;
  // Replaces the instant set before; InfiniteFuture() disarms. An instant in the past fires at
  // once, on the timer's thread. The callback must be quick: all timers of a clock share one
  // thread. It fires once per Arm.
  virtual void Arm(absl::Time when) = 0;
};

// Monotonic time. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back, whatever happens to the wall clock.
  virtual absl::Time Now() const = 0;
  // The timer must not outlive the clock. By default real time passes between Arm and the
  // callback; a clock of virtual time overrides this.
  virtual std::unique_ptr<Timer> NewTimer(std::function<void()> callback);
};

// The process-wide monotonic clock, expressed as absl::Time since an arbitrary start.
Clock& MonotonicClock();

}  // namespace inferd::scheduler
