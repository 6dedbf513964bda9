#include "engine/runtime/plan_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace inferd::engine {
namespace {

using PlanOr = absl::StatusOr<std::shared_ptr<const Plan>>;

PlanOr MakePlan() { return std::make_shared<const Plan>(); }

TEST(PlanCacheTest, CompilesOncePerKey) {
  PlanCache cache(4);
  int compiled = 0;
  const auto compile = [&]() -> PlanOr {
    ++compiled;
    return MakePlan();
  };
  const PlanOr a = cache.Get({1, 2}, compile);
  const PlanOr b = cache.Get({1, 2}, compile);
  const PlanOr c = cache.Get({1, 3}, compile);
  EXPECT_EQ(*a, *b);
  EXPECT_NE(*a, *c);
  EXPECT_EQ(compiled, 2);
  EXPECT_EQ(cache.statistics().hits, 1);
  EXPECT_EQ(cache.statistics().misses, 2);
}

TEST(PlanCacheTest, LeastRecentlyUsedGoesFirst) {
  PlanCache cache(2);
  const PlanOr one = cache.Get({1}, MakePlan);
  const PlanOr two = cache.Get({2}, MakePlan);
  EXPECT_EQ(*cache.Get({1}, MakePlan), *one);
  cache.Get({3}, MakePlan).IgnoreError();  // evicts 2
  EXPECT_EQ(*cache.Get({1}, MakePlan), *one);
  EXPECT_NE(*cache.Get({2}, MakePlan), *two);
  EXPECT_EQ(cache.statistics().size, 2);
  EXPECT_EQ(cache.statistics().evictions, 2);
}

TEST(PlanCacheTest, StaysWithinItsBound) {
  PlanCache cache(5);
  for (int64_t i = 0; i < 1000; ++i) ASSERT_TRUE(cache.Get({i}, MakePlan).ok());
  EXPECT_EQ(cache.statistics().size, 5);
}

TEST(PlanCacheTest, ErrorsAreNotKept) {
  PlanCache cache(2);
  const PlanOr failed =
      cache.Get({1}, []() -> PlanOr { return absl::InvalidArgumentError("bad shape"); });
  EXPECT_EQ(failed.status().message(), "bad shape");
  EXPECT_EQ(cache.statistics().size, 0);
  EXPECT_TRUE(cache.Get({1}, MakePlan).ok());
}

TEST(PlanCacheTest, ThreadsThatAskForOneKeyShareOneCompilation) {
  PlanCache cache(4);
  std::atomic<int> compiled{0};
  absl::Notification started;
  absl::Notification finish;
  std::vector<PlanOr> plans(4, absl::UnknownError(""));
  std::thread first([&] {
    plans[0] = cache.Get({7}, [&]() -> PlanOr {
      ++compiled;
      started.Notify();
      finish.WaitForNotification();
      return MakePlan();
    });
  });
  started.WaitForNotification();
  std::vector<std::thread> others;
  for (int i = 1; i < 4; ++i) {
    others.emplace_back([&, i] {
      plans[i] = cache.Get({7}, [&]() -> PlanOr {
        ++compiled;
        return MakePlan();
      });
    });
  }
  // Another key is not held up by the compilation that is on.
  EXPECT_TRUE(cache.Get({8}, MakePlan).ok());
  finish.Notify();
  first.join();
  for (std::thread& t : others) t.join();
  EXPECT_EQ(compiled, 1);
  for (const PlanOr& plan : plans) EXPECT_EQ(*plan, *plans[0]);
}

}  // namespace
}  // namespace inferd::engine
