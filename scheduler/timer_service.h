// One thread that fires any number of timers on the monotonic clock of the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "scheduler/clock.h"

namespace inferd::scheduler {

// Reads CLOCK_MONOTONIC as absl::Time since its own epoch.
absl::Time KernelMonotonicNow();

// Thread-safe. Sleeps in the kernel (timerfd) until the earliest timer, so an idle process costs
// nothing, and a jump of the wall clock moves no deadline.
class TimerService {
 public:
  TimerService();
  ~TimerService();
  TimerService(const TimerService&) = delete;
  TimerService& operator=(const TimerService&) = delete;

  // The timer must not outlive the service.
  std::unique_ptr<Timer> NewTimer(std::function<void()> callback);

 private:
  class ServiceTimer;
  // Order of firing; the number tells timers of one instant apart.
  using Key = std::pair<absl::Time, uint64_t>;

  void Run();
  void Arm(ServiceTimer& timer, absl::Time when);
  void Remove(ServiceTimer& timer);
  // Sets the kernel timer to the earliest deadline.
  void Program() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  absl::CondVar callback_done_;
  absl::btree_map<Key, ServiceTimer*> armed_ ABSL_GUARDED_BY(mutex_);
  ServiceTimer* running_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int timer_fd_ = -1;
  std::thread thread_;
};

}  // namespace inferd::scheduler
