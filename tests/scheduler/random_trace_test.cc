// Random traces through the policy core; the simulator checks the invariants at every step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/scheduler/simulator.h"

namespace inferd::scheduler {
namespace {

using absl::Milliseconds;

struct Trace {
  BatcherOptions options;
  std::vector<SimulatedRequest> requests;
  absl::Duration wake_latency;
};

Trace MakeTrace(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  auto chance = [&](double p) { return std::bernoulli_distribution(p)(random); };
  Trace trace;
  BatcherOptions& options = trace.options;
  options.model = "m";
  options.batching.max_batch_size = chance(0.2) ? 1 : pick(2, 16);
  if (chance(0.5)) options.batching.latency_budget = Milliseconds(pick(5, 100));
  if (chance(0.3)) options.batching.max_delay = Milliseconds(pick(0, 20));
  if (chance(0.3)) options.batching.preferred_sizes = {pick(1, options.batching.max_batch_size)};
  options.queue.max_requests = pick(1, 60);
  options.queue.max_bytes = pick(50, 2000);
  if (chance(0.4)) options.queue.timeout = Milliseconds(pick(1, 60));
  options.queue.priorities = static_cast<int>(pick(1, 3));
  options.instance_groups.clear();
  for (int64_t i = pick(1, 4); i > 0; --i) options.instance_groups.push_back(chance(0.3) ? 1 : 0);
  options.instance_groups[0] = 0;
  if (chance(0.5)) trace.wake_latency = absl::Microseconds(pick(1, 500));

  absl::Time now = absl::UnixEpoch();
  const double mean_gap_ms = std::exp(std::uniform_real_distribution<double>(-2, 2)(random));
  const int64_t shapes = chance(0.5) ? 1 : pick(2, 6);
  for (int i = 0; i < 400; ++i) {
    if (!chance(0.2)) {
      now += Milliseconds(std::exponential_distribution<double>(1 / mean_gap_ms)(random));
    }
    SimulatedRequest request;
    request.arrival = now;
    if (options.batching.max_batch_size > 1) {
      request.rows = pick(1, std::min<int64_t>(4, options.batching.max_batch_size));
    }
    request.bytes = pick(1, 60);
    request.shape = pick(0, shapes - 1);
    request.priority = static_cast<int>(pick(0, 3));
    if (chance(0.3)) request.deadline = now + absl::Microseconds(pick(0, 80000));
    if (chance(0.15)) request.cancel_at = now + absl::Microseconds(pick(0, 50000));
    trace.requests.push_back(request);
  }
  return trace;
}

TEST(RandomTraceTest, InvariantsHold) {
  std::map<Fate, int64_t> fates;
  std::map<CloseReason, int64_t> reasons;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Trace trace = MakeTrace(seed);
    std::mt19937_64 random(seed);
    Simulator simulator(trace.options, [&](int group, int64_t rows) {
      std::lognormal_distribution<double> noise(0, 0.3);
      return Milliseconds((1 + group + 0.5 * static_cast<double>(rows)) * noise(random));
    });
    simulator.wake_latency = trace.wake_latency;
    if (seed % 3 == 0) simulator.WarmUp();
    for (const SimulatedRequest& request : trace.requests) simulator.Add(request);
    simulator.Run();
    for (const auto& outcome : simulator.outcomes()) {
      ++fates[outcome->fate];
      const absl::Time deadline = outcome->request.deadline;
      if (outcome->fate == Fate::kServed) {
        // Answered by its deadline, or the timer had answered before.
        EXPECT_LE(outcome->end, deadline);
      }
      if (outcome->fate == Fate::kExpiredRunning) {
        EXPECT_EQ(outcome->end, deadline);
      }
      if (outcome->fate == Fate::kExpired) {
        EXPECT_EQ(outcome->end, deadline != absl::InfiniteFuture()
                                    ? deadline
                                    : outcome->request.arrival + trace.options.queue.timeout);
      }
    }
    for (const SimulatedBatch& batch : simulator.batches()) ++reasons[batch.reason];
    if (HasFailure()) break;
  }
  // The traces reach every corner.
  for (Fate fate :
       {Fate::kServed, Fate::kRefused, Fate::kExpired, Fate::kExpiredRunning, Fate::kCancelled}) {
    EXPECT_GT(fates[fate], 1000) << static_cast<int>(fate);
  }
  for (CloseReason reason : {CloseReason::kFull, CloseReason::kBudget, CloseReason::kIdle,
                             CloseReason::kDelay, CloseReason::kUnbatched}) {
    EXPECT_GT(reasons[reason], 100) << static_cast<int>(reason);
  }
}

// Work is never left lying while an instance is idle, unless a knob asks for it.
TEST(RandomTraceTest, NoInstanceIdlesWhileWorkWaits) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Trace trace = MakeTrace(seed);
    trace.options.batching.max_delay = absl::InfiniteDuration();
    trace.options.batching.latency_budget = absl::InfiniteDuration();
    Simulator simulator(trace.options, [&](int, int64_t rows) {
      return Milliseconds(1 + 0.5 * static_cast<double>(rows));
    });
    for (const SimulatedRequest& request : trace.requests) simulator.Add(request);
    simulator.Run();
    // While a request waited, every instance was running.
    for (const auto& outcome : simulator.outcomes()) {
      if (outcome->fate != Fate::kServed || outcome->start == outcome->request.arrival) continue;
      std::map<int, absl::Duration> busy;
      for (const SimulatedBatch& batch : simulator.batches()) {
        busy[batch.instance] +=
            std::max(absl::ZeroDuration(), std::min(batch.end, outcome->start) -
                                               std::max(batch.start, outcome->request.arrival));
      }
      ASSERT_EQ(busy.size(), trace.options.instance_groups.size());
      for (const auto& [instance, time] : busy) {
        ASSERT_EQ(time, outcome->start - outcome->request.arrival) << instance;
      }
    }
  }
}

}  // namespace
}  // namespace inferd::scheduler
