#include "scheduler/clock.h"

#include <utility>

#include "scheduler/timer_service.h"

namespace inferd::scheduler {
namespace {

// Never destroyed: its thread serves timers of objects that die late.
TimerService& ProcessTimers() {
  static TimerService* const service = new TimerService;
  return *service;
}

class KernelClock : public Clock {
 public:
  absl::Time Now() const override { return KernelMonotonicNow(); }
};

// Shifts instants of a foreign clock onto the kernel's.
class ShiftedTimer : public Timer {
 public:
  ShiftedTimer(const Clock& clock, std::unique_ptr<Timer> timer)
      : clock_(clock), timer_(std::move(timer)) {}
  void Arm(absl::Time when) override {
    timer_->Arm(when == absl::InfiniteFuture() ? when
                                               : KernelMonotonicNow() + (when - clock_.Now()));
  }

 private:
  const Clock& clock_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace

std::unique_ptr<Timer> Clock::NewTimer(std::function<void()> callback) {
  return std::make_unique<ShiftedTimer>(*this, ProcessTimers().NewTimer(std::move(callback)));
}

Clock& MonotonicClock() {
  static KernelClock* const clock = new KernelClock;
  return *clock;
}

}  // namespace inferd::scheduler
