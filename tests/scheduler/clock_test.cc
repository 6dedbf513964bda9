#include "scheduler/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "scheduler/busy_window.h"
#include "scheduler/response_order.h"
#include "scheduler/timer_service.h"

namespace inferd::scheduler {
namespace {

using absl::Milliseconds;
using ::testing::ElementsAre;

TEST(ClockTest, NeverGoesBack) {
  Clock& clock = MonotonicClock();
  absl::Time last = clock.Now();
  for (int i = 0; i < 1000; ++i) {
    const absl::Time now = clock.Now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(TimerServiceTest, FiresInOrderAndNotBeforeTheTime) {
  TimerService service;
  absl::Mutex mutex;
  std::vector<int> fired;
  absl::Notification all;
  const absl::Time start = KernelMonotonicNow();
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i = 0; i < 3; ++i) {
    timers.push_back(service.NewTimer([&, i] {
      EXPECT_GE(KernelMonotonicNow(), start + Milliseconds(3 - i));
      absl::MutexLock lock(&mutex);
      fired.push_back(i);
      if (fired.size() == 3) all.Notify();
    }));
  }
  for (int i = 0; i < 3; ++i) timers[i]->Arm(start + Milliseconds(3 - i));
  all.WaitForNotification();
  EXPECT_EQ(fired.size(), 3);
}

TEST(TimerServiceTest, AnInstantInThePastFiresAtOnce) {
  TimerService service;
  absl::Notification fired;
  auto timer = service.NewTimer([&] { fired.Notify(); });
  timer->Arm(absl::InfinitePast());
  fired.WaitForNotification();
}

TEST(TimerServiceTest, ArmingAgainReplacesAndInfinityDisarms) {
  TimerService service;
  int count = 0;
  absl::Notification last;
  auto timer = service.NewTimer([&] { ++count; });
  const absl::Time soon = KernelMonotonicNow() + Milliseconds(2);
  timer->Arm(soon + absl::Hours(1));
  timer->Arm(soon);
  timer->Arm(absl::InfiniteFuture());
  auto after = service.NewTimer([&] { last.Notify(); });
  after->Arm(soon + Milliseconds(1));
  last.WaitForNotification();
  EXPECT_EQ(count, 0);
}

TEST(TimerServiceTest, ACallbackMayArmAndDestroyItsTimer) {
  TimerService service;
  absl::Notification fired;
  absl::Mutex mutex;
  std::unique_ptr<Timer> timer;
  int count = 0;
  absl::MutexLock lock(&mutex);
  timer = service.NewTimer([&] {
    absl::MutexLock inner(&mutex);
    if (++count < 3) {
      timer->Arm(KernelMonotonicNow());
    } else {
      timer.reset();
      fired.Notify();
    }
  });
  timer->Arm(KernelMonotonicNow());
  mutex.Unlock();
  fired.WaitForNotification();
  mutex.Lock();
  EXPECT_EQ(count, 3);
}

TEST(TimerServiceTest, DestructionWaitsForARunningCallback) {
  TimerService service;
  absl::Notification entered, leave;
  bool left = false;
  auto timer = service.NewTimer([&] {
    entered.Notify();
    leave.WaitForNotification();
    left = true;
  });
  timer->Arm(absl::InfinitePast());
  entered.WaitForNotification();
  leave.Notify();
  timer.reset();
  EXPECT_TRUE(left);
}

// A clock that does not say how its time passes gets real time.
TEST(ClockTest, TimersOfForeignClocksAreShiftedOntoTheKernels) {
  class Foreign : public Clock {
   public:
    absl::Time Now() const override { return KernelMonotonicNow() - absl::Hours(1000); }
  };
  Foreign clock;
  absl::Notification fired;
  auto timer = clock.NewTimer([&] { fired.Notify(); });
  timer->Arm(clock.Now() + Milliseconds(1));
  fired.WaitForNotification();
}

absl::Time At(double seconds) { return absl::UnixEpoch() + absl::Seconds(seconds); }

TEST(BusyWindowTest, CountsWhatLiesInTheWindow) {
  BusyWindow window;
  window.Add(At(100.25), At(101.5));
  EXPECT_EQ(window.Busy(At(101.9)), Milliseconds(1250));
  // The second 100 has left the window of ten seconds.
  EXPECT_EQ(window.Busy(At(110.1)), Milliseconds(500));
  EXPECT_EQ(window.Busy(At(200)), absl::ZeroDuration());
}

TEST(BusyWindowTest, OneLongIntervalFillsTheWindow) {
  BusyWindow window;
  window.Add(At(1), At(1000.5));
  EXPECT_EQ(window.Busy(At(1000.5)), At(1000.5) - BusyWindow::Begin(At(1000.5)));
  window.Add(At(1000.5), At(1000.5));
  EXPECT_EQ(window.Busy(At(1000.5)), At(1000.5) - BusyWindow::Begin(At(1000.5)));
}

TEST(ResponseOrderTest, ReleasesAPrefix) {
  ResponseOrder<int> order;
  for (uint64_t i = 0; i < 4; ++i) order.Expect(i);
  std::vector<int> released;
  order.Ready(2, 20);
  order.Release(&released);
  EXPECT_TRUE(released.empty());
  order.Ready(0, 0);
  order.Release(&released);
  EXPECT_THAT(released, ElementsAre(0));
  order.Forget(1);
  order.Release(&released);
  EXPECT_THAT(released, ElementsAre(0, 20));
  order.Ready(3, 30);
  order.Release(&released);
  EXPECT_THAT(released, ElementsAre(0, 20, 30));
}

}  // namespace
}  // namespace inferd::scheduler
