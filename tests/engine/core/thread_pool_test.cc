#include "engine/device/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "absl/synchronization/barrier.h"
#include "engine/device/denormals.h"

namespace inferd::engine {
namespace {

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int64_t n : {0, 1, 7, 1000, 100001}) {
      for (int64_t grain : {1, 3, 5000}) {
        std::vector<std::atomic<int>> hits(n);
        pool.ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
          ASSERT_LE(0, begin);
          ASSERT_LE(end, n);
          for (int64_t i = begin; i < end; ++i) hits[i].fetch_add(1);
        });
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(hits[i], 1) << threads << " " << n << " " << i;
      }
    }
  }
}

TEST(ThreadPool, ChunksAreNoShorterThanTheGrainSaveTheLast) {
  ThreadPool pool(4);
  pool.ParallelFor(1003, 100, [&](int64_t begin, int64_t end) {
    EXPECT_TRUE(end - begin >= 100 || end == 1003);
  });
}

// Every member waits for all the others: passes only if they are all running at once.
TEST(ThreadPool, TeamMembersRunAtTheSameTime) {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    // A barrier reports once per round to the member that may destroy it.
    auto* barrier = new absl::Barrier(3);
    std::atomic<int> members{0};
    pool.RunTeam(3, [&](int thread) {
      members.fetch_add(1 << (4 * thread));
      if (barrier->Block()) delete barrier;
    });
    EXPECT_EQ(members, 0x111);
  }
}

TEST(ThreadPool, ATeamSmallerThanThePoolLeavesTheRestOut) {
  ThreadPool pool(4);
  std::atomic<int> members{0};
  pool.RunTeam(2, [&](int thread) { members.fetch_add(1 << thread); });
  EXPECT_EQ(members, 0b11);
}

TEST(ThreadPool, PoolsWorkSideBySide) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      ThreadPool pool(2);
      for (int round = 0; round < 200; ++round) {
        pool.ParallelFor(64, 1, [&](int64_t begin, int64_t end) { total += end - begin; });
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(total, 3 * 200 * 64);
}

TEST(ThreadPool, AvailableThreadsIsPositive) { EXPECT_GE(AvailableThreads(), 1); }

TEST(Denormals, AreFlushedInScopeAndRestored) {
  volatile float tiny = 1e-38f;
  volatile float factor = 0.01f;
  EXPECT_NE(tiny * factor, 0.0f);
  {
    ScopedFlushDenormals flush;
    EXPECT_EQ(tiny * factor, 0.0f);
  }
  EXPECT_NE(tiny * factor, 0.0f);
}

}  // namespace
}  // namespace inferd::engine
