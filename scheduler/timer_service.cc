#include "scheduler/timer_service.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace inferd::scheduler {

absl::Time KernelMonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

class TimerService::ServiceTimer : public Timer {
 public:
  ServiceTimer(TimerService& service, std::function<void()> callback)
      : service_(service), callback_(std::move(callback)) {}
  ~ServiceTimer() override { service_.Remove(*this); }
  void Arm(absl::Time when) override { service_.Arm(*this, when); }

 private:
  friend class TimerService;
  TimerService& service_;
  const std::function<void()> callback_;
  // Guarded by the service's mutex.
  Key key_{absl::InfiniteFuture(), 0};
};

TimerService::TimerService() {
  timer_fd_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  // Without timers no deadline could be kept; there is nothing to fall back to.
  if (timer_fd_ < 0) std::abort();
  thread_ = std::thread([this] { Run(); });
}

TimerService::~TimerService() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    Program();
  }
  thread_.join();
  close(timer_fd_);
}

std::unique_ptr<Timer> TimerService::NewTimer(std::function<void()> callback) {
  return std::make_unique<ServiceTimer>(*this, std::move(callback));
}

void TimerService::Arm(ServiceTimer& timer, absl::Time when) {
  absl::MutexLock lock(&mutex_);
  armed_.erase(timer.key_);
  timer.key_ = Key(when, when == absl::InfiniteFuture() ? 0 : ++next_number_);
  if (when != absl::InfiniteFuture()) armed_.emplace(timer.key_, &timer);
  // A first deadline that moved back only causes one early wake-up.
  if (!armed_.empty() && armed_.begin()->second == &timer) Program();
}

void TimerService::Remove(ServiceTimer& timer) {
  absl::MutexLock lock(&mutex_);
  armed_.erase(timer.key_);
  while (running_ == &timer && std::this_thread::get_id() != thread_.get_id()) {
    callback_done_.Wait(&mutex_);
  }
}

void TimerService::Program() {
  // An absolute time of zero would disarm; the first nanosecond fires at once.
  itimerspec spec{};
  spec.it_value.tv_nsec = 1;
  if (!stopping_) {
    if (armed_.empty()) return;
    const absl::Time when = armed_.begin()->first.first;
    if (when > absl::UnixEpoch()) spec.it_value = absl::ToTimespec(when);
  }
  timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

void TimerService::Run() {
  while (true) {
    uint64_t expirations;
    if (read(timer_fd_, &expirations, sizeof(expirations)) < 0 && errno != EINTR) std::abort();
    absl::MutexLock lock(&mutex_);
    while (!stopping_ && !armed_.empty() && armed_.begin()->first.first <= KernelMonotonicNow()) {
      ServiceTimer* timer = armed_.begin()->second;
      armed_.erase(armed_.begin());
      timer->key_ = Key(absl::InfiniteFuture(), 0);
      running_ = timer;
      mutex_.Unlock();
      // The callback may destroy its timer and itself with it: run a copy.
      const std::function<void()> callback = timer->callback_;
      callback();
      mutex_.Lock();
      running_ = nullptr;
      callback_done_.SignalAll();
    }
    if (stopping_) return;
    Program();
  }
}

}  // namespace inferd::scheduler
