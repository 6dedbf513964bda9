// A clock that stands still until the test moves it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "scheduler/clock.h"

namespace inferd::scheduler {

// Thread-safe. Timers fire on the thread that advances the clock, in order, each at exactly its
// instant.
class ManualClock : public Clock {
 public:
  absl::Time Now() const override {
    absl::MutexLock lock(&mutex_);
    return now_;
  }

  std::unique_ptr<Timer> NewTimer(std::function<void()> callback) override {
    return std::make_unique<ManualTimer>(*this, std::move(callback));
  }

  void Advance(absl::Duration d) {
    absl::Time end;
    {
      absl::MutexLock lock(&mutex_);
      end = now_ + d;
    }
    while (true) {
      std::shared_ptr<std::function<void()>> callback;
      {
        absl::MutexLock lock(&mutex_);
        if (armed_.empty() || armed_.begin()->first.first > end) {
          now_ = end;
          return;
        }
        now_ = std::max(now_, armed_.begin()->first.first);
        callback = armed_.begin()->second->callback;
        armed_.begin()->second->key = {absl::InfiniteFuture(), 0};
        armed_.erase(armed_.begin());
      }
      (*callback)();
    }
  }

  // The earliest armed timer.
  absl::Time NextTimer() const {
    absl::MutexLock lock(&mutex_);
    return armed_.empty() ? absl::InfiniteFuture() : armed_.begin()->first.first;
  }

 private:
  using Key = std::pair<absl::Time, uint64_t>;
  struct ManualTimer : Timer {
    ManualTimer(ManualClock& c, std::function<void()> f)
        : clock(c), callback(std::make_shared<std::function<void()>>(std::move(f))) {}
    ~ManualTimer() override { Arm(absl::InfiniteFuture()); }
    void Arm(absl::Time when) override {
      absl::MutexLock lock(&clock.mutex_);
      clock.armed_.erase(key);
      key = {when, ++clock.next_};
      if (when != absl::InfiniteFuture()) clock.armed_[key] = this;
    }
    ManualClock& clock;
    std::shared_ptr<std::function<void()>> callback;
    Key key{absl::InfiniteFuture(), 0};
  };

  mutable absl::Mutex mutex_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_) = absl::UnixEpoch() + absl::Hours(1);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Key, ManualTimer*> armed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace inferd::scheduler
