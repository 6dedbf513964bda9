#include "engine/compile/memory_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/tensor/tensor.h"

namespace inferd::engine {
namespace {

bool LifetimesOverlap(const MemoryRequest& a, const MemoryRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

// The most bytes alive at once: no plan can do with less.
size_t LowerBound(const std::vector<MemoryRequest>& requests, int steps) {
  size_t most = 0;
  for (int s = 0; s < steps; ++s) {
    size_t alive = 0;
    for (const MemoryRequest& r : requests) {
      if (r.first <= s && s <= r.last) alive += (r.bytes + 63) / 64 * 64;
    }
    most = std::max(most, alive);
  }
  return most;
}

TEST(MemoryPlanTest, NothingNeedsNothing) {
  EXPECT_EQ(PlanMemory({}).arena_bytes, 0u);
  const std::vector<MemoryRequest> empty = {{0, 0, 3}};
  EXPECT_EQ(PlanMemory(empty).arena_bytes, 0u);
  EXPECT_EQ(PlanMemory(empty).offsets[0], 0u);
}

TEST(MemoryPlanTest, ReusesMemoryOfWhatDied) {
  // A chain: each tensor lives from its own step to the next.
  std::vector<MemoryRequest> chain;
  for (int i = 0; i < 10; ++i) chain.push_back({1000, i, i + 1});
  EXPECT_EQ(PlanMemory(chain).arena_bytes, 2 * 1024u);
}

TEST(MemoryPlanTest, FillsTheTightestGap) {
  // Two long-lived blocks leave gaps of 256 and 128 at steps 5 to 6; a block of 128 takes the
  // smaller one.
  const std::vector<MemoryRequest> requests = {{1024, 0, 9}, {256, 0, 4}, {512, 0, 9},
                                               {128, 0, 4},  {64, 0, 9},  {128, 5, 6}};
  const MemoryPlan plan = PlanMemory(requests);
  EXPECT_EQ(plan.arena_bytes, LowerBound(requests, 10));
}

TEST(MemoryPlanTest, RandomLifetimesNeverShareBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const int steps = 1 + static_cast<int>(random() % 60);
    std::vector<MemoryRequest> requests(1 + random() % 80);
    for (MemoryRequest& r : requests) {
      r.bytes = random() % 5 == 0 ? 0 : random() % 10000;
      r.first = static_cast<int>(random() % steps);
      r.last = r.first + static_cast<int>(random() % (steps - r.first));
    }
    const MemoryPlan plan = PlanMemory(requests);
    ASSERT_EQ(plan.offsets.size(), requests.size());
    size_t total = 0;
    for (size_t a = 0; a < requests.size(); ++a) {
      ASSERT_EQ(plan.offsets[a] % kBufferAlignment, 0u);
      ASSERT_LE(plan.offsets[a] + requests[a].bytes, plan.arena_bytes + (requests[a].bytes == 0));
      total += (requests[a].bytes + 63) / 64 * 64;
      for (size_t b = 0; b < a; ++b) {
        if (!LifetimesOverlap(requests[a], requests[b])) continue;
        if (requests[a].bytes == 0 || requests[b].bytes == 0) continue;
        ASSERT_TRUE(plan.offsets[a] + requests[a].bytes <= plan.offsets[b] ||
                    plan.offsets[b] + requests[b].bytes <= plan.offsets[a])
            << "round " << round << ": requests " << a << " and " << b;
      }
    }
    ASSERT_LE(plan.arena_bytes, total);
    ASSERT_GE(plan.arena_bytes, LowerBound(requests, steps));
  }
}

}  // namespace
}  // namespace inferd::engine
