// The policy core under load, on virtual time: what is asked of a daemon, asked of the policy.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/scheduler/simulator.h"

namespace inferd::scheduler {
namespace {

using absl::Milliseconds;

// A model whose batches take a + b * rows, give or take.
struct SimulatedModel {
  std::string name;
  double a_ms;
  double b_ms;
  int64_t max_batch;
  double budget_ms;
  int instances = 1;
  double noise = 0;  // standard deviation of the logarithm
};

void PrintTo(const SimulatedModel& m, std::ostream* out) { *out << m.name; }

// What the instances can do with whole batches.
double Capacity(const SimulatedModel& m) {
  const double n = static_cast<double>(m.max_batch);
  return m.instances * 1000 * n / (m.a_ms + m.b_ms * n);
}

BatcherOptions OptionsFor(const SimulatedModel& m) {
  BatcherOptions options;
  options.model = m.name;
  options.batching.max_batch_size = m.max_batch;
  options.batching.latency_budget = Milliseconds(m.budget_ms);
  options.instance_groups.assign(static_cast<size_t>(m.instances), 0);
  return options;
}

Simulator::Compute ComputeOf(const SimulatedModel& m) {
  auto random = std::make_shared<std::mt19937_64>(11);
  return [m, random](int, int64_t rows) {
    std::lognormal_distribution<double> noise(0, m.noise > 0 ? m.noise : 1);
    const double factor = m.noise > 0 ? noise(*random) : 1;
    return Milliseconds((m.a_ms + m.b_ms * static_cast<double>(rows)) * factor);
  };
}

std::unique_ptr<Simulator> RunOpenLoop(const SimulatedModel& m, double load, double seconds) {
  auto simulator = std::make_unique<Simulator>(OptionsFor(m), ComputeOf(m));
  simulator->WarmUp();
  for (const SimulatedRequest& request :
       PoissonArrivals(load * Capacity(m), absl::UnixEpoch(), absl::Seconds(seconds), 5)) {
    simulator->Add(request);
  }
  simulator->Run();
  return simulator;
}

class OpenLoopTest : public ::testing::TestWithParam<SimulatedModel> {
 protected:
  const SimulatedModel& model() const { return GetParam(); }
  absl::Duration budget() const { return Milliseconds(model().budget_ms); }
  // About 20,000 requests, whatever the speed of the model.
  double Seconds(double load) const { return 20000 / (Capacity(model()) * load); }
};

TEST_P(OpenLoopTest, KeepsTheBudgetBelowCapacity) {
  for (double load : {0.5, 0.8}) {
    const double seconds = Seconds(load);
    auto simulator = RunOpenLoop(model(), load, seconds);
    EXPECT_LE(simulator->LatencyQuantile(0.99), budget()) << load;
    const auto all = static_cast<double>(simulator->outcomes().size());
    EXPECT_LE(simulator->Count(Fate::kRefused) / all, 0.02) << load;
    EXPECT_GE(simulator->RowsWithin(budget()) / all, 0.97) << load;
    int64_t largest = 0;
    for (const SimulatedBatch& batch : simulator->batches())
      largest = std::max(largest, batch.rows);
    EXPECT_GT(largest, 1) << load;
  }
}

TEST_P(OpenLoopTest, ServesItsCapacityWithinTheBudgetUnderOverloadAndRefusesTheRestAtOnce) {
  for (double load : {1.2, 2.0, 5.0}) {
    const double seconds = Seconds(load);
    auto simulator = RunOpenLoop(model(), load, seconds);
    const double goodput = static_cast<double>(simulator->RowsWithin(budget())) / seconds;
    EXPECT_GE(goodput, 0.93 * Capacity(model())) << load;
    EXPECT_LE(simulator->LatencyQuantile(0.99), budget()) << load;
    for (const auto& outcome : simulator->outcomes()) {
      if (outcome->fate == Fate::kRefused) {
        ASSERT_EQ(outcome->end, outcome->request.arrival);
      } else {
        ASSERT_EQ(outcome->fate, Fate::kServed);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, OpenLoopTest,
    ::testing::Values(SimulatedModel{"setup_dominates", 5, 0.2, 32, 40},
                      SimulatedModel{"setup_dominates_noisy", 5, 0.2, 32, 40, 1, 0.1},
                      SimulatedModel{"two_instances", 5, 0.2, 32, 40, 2},
                      SimulatedModel{"two_instances_noisy", 5, 0.2, 32, 40, 2, 0.1},
                      SimulatedModel{"linear", 1, 10, 4, 250, 1},
                      SimulatedModel{"linear_noisy", 1, 10, 4, 250, 2, 0.1},
                      SimulatedModel{"tiny", 0.02, 0.002, 32, 5},
                      SimulatedModel{"tiny_noisy", 0.02, 0.002, 32, 5, 1, 0.1},
                      SimulatedModel{"even", 1, 1, 16, 60, 1, 0.1}),
    [](const auto& param) { return param.param.name; });

// A burst far beyond capacity, then silence, then ordinary load: nothing of the burst may linger.
TEST(LoadTest, ABurstIsTrimmedToTheBudgetAndForgotten) {
  const SimulatedModel model{"m", 5, 0.2, 32, 40};
  Simulator simulator(OptionsFor(model), ComputeOf(model));
  simulator.WarmUp();
  for (int i = 0; i < 1000; ++i) {
    SimulatedRequest request;
    request.arrival = absl::UnixEpoch() + Milliseconds(1);
    simulator.Add(request);
  }
  for (SimulatedRequest request :
       PoissonArrivals(1000, absl::UnixEpoch() + Milliseconds(200), absl::Seconds(5), 9)) {
    simulator.Add(request);
  }
  simulator.Run();
  int64_t served_of_burst = 0;
  for (const auto& outcome : simulator.outcomes()) {
    if (outcome->request.arrival < absl::UnixEpoch() + Milliseconds(100)) {
      if (outcome->fate == Fate::kServed) ++served_of_burst;
    } else {
      EXPECT_EQ(outcome->fate, Fate::kServed);
    }
  }
  // Two to three whole batches fit into the budget.
  EXPECT_GE(served_of_burst, 64);
  EXPECT_LE(served_of_burst, 110);
  EXPECT_LE(simulator.LatencyQuantile(0.999), Milliseconds(40));
}

TEST(LoadTest, RecoversFromAStall) {
  const SimulatedModel model{"m", 5, 0.2, 32, 40};
  int batches = 0;
  Simulator simulator(OptionsFor(model), [&](int, int64_t rows) {
    return ++batches == 500 ? absl::Seconds(2) : Milliseconds(5 + 0.2 * static_cast<double>(rows));
  });
  simulator.WarmUp();
  for (const SimulatedRequest& request :
       PoissonArrivals(2000, absl::UnixEpoch(), absl::Seconds(20), 9)) {
    simulator.Add(request);
  }
  simulator.Run();
  absl::Time stall_end;
  for (const SimulatedBatch& batch : simulator.batches()) {
    if (batch.end - batch.start > absl::Seconds(1)) stall_end = batch.end;
  }
  ASSERT_NE(stall_end, absl::UnixEpoch());
  int64_t refused_later = 0;
  int64_t late_later = 0;
  int64_t later = 0;
  for (const auto& outcome : simulator.outcomes()) {
    if (outcome->request.arrival < stall_end + absl::Seconds(1)) continue;
    ++later;
    if (outcome->fate == Fate::kRefused) ++refused_later;
    if (outcome->fate == Fate::kServed &&
        outcome->end - outcome->request.arrival > Milliseconds(40)) {
      ++late_later;
    }
  }
  ASSERT_GT(later, 10000);
  EXPECT_LT(refused_later, later / 100);
  EXPECT_LT(late_later, later / 100);
}

// The machine becomes three times slower: the model must notice and keep the budget again.
TEST(LoadTest, AdaptsToASlowerMachine) {
  const SimulatedModel model{"m", 3, 0.2, 32, 60};
  Simulator* running = nullptr;
  Simulator simulator(OptionsFor(model), [&](int, int64_t rows) {
    const double slower =
        running != nullptr && running->now() > absl::UnixEpoch() + absl::Seconds(10) ? 3 : 1;
    return Milliseconds(slower * (3 + 0.2 * static_cast<double>(rows)));
  });
  simulator.WarmUp();
  running = &simulator;
  for (const SimulatedRequest& request :
       PoissonArrivals(2500, absl::UnixEpoch(), absl::Seconds(20), 9)) {
    simulator.Add(request);
  }
  simulator.Run();
  int64_t good = 0;
  int64_t late = 0;
  for (const auto& outcome : simulator.outcomes()) {
    if (outcome->request.arrival < absl::UnixEpoch() + absl::Seconds(12)) continue;
    if (outcome->fate != Fate::kServed) continue;
    ++(outcome->end - outcome->request.arrival <= Milliseconds(60) ? good : late);
  }
  // Whole batches take 28 ms now: 1,130 rows per second.
  EXPECT_GE(good, 8 * 1130 * 0.9);
  EXPECT_LE(late, good / 50);
}

// Without a budget nothing is refused below the limits, and batches grow with the load.
TEST(LoadTest, WithoutABudgetBatchesCloseWhenAnInstanceIsIdle) {
  const SimulatedModel model{"m", 5, 0.2, 32, 40};
  BatcherOptions options = OptionsFor(model);
  options.batching.latency_budget = absl::InfiniteDuration();
  for (double load : {0.1, 0.9}) {
    Simulator simulator(options, ComputeOf(model));
    for (const SimulatedRequest& request :
         PoissonArrivals(load * Capacity(model), absl::UnixEpoch(), absl::Seconds(10), 9)) {
      simulator.Add(request);
    }
    simulator.Run();
    EXPECT_EQ(simulator.Count(Fate::kRefused), 0);
    const double mean = static_cast<double>(simulator.outcomes().size()) /
                        static_cast<double>(simulator.batches().size());
    if (load < 0.5) {
      EXPECT_LT(mean, 3);
    } else {
      EXPECT_GT(mean, 15);
    }
    for (const SimulatedBatch& batch : simulator.batches()) {
      EXPECT_TRUE(batch.reason == CloseReason::kIdle || batch.reason == CloseReason::kFull);
    }
  }
}

// N clients that each wait for their answer. Starting on the first one that returns would run
// batches of 1 and N - 1 in turn.
TEST(LoadTest, ClientsThatReturnTogetherAreServedTogether) {
  for (int clients : {4, 8, 16}) {
    const SimulatedModel model{"m", 5, 0.2, 32, 40};
    Simulator simulator(OptionsFor(model), ComputeOf(model));
    simulator.WarmUp();
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> think(0.1, 0.4);
    const absl::Time end = absl::UnixEpoch() + absl::Seconds(10);
    simulator.on_answer = [&](const SimulatedOutcome&,
                              absl::Time now) -> std::optional<SimulatedRequest> {
      if (now > end) return std::nullopt;
      SimulatedRequest next;
      next.arrival = now + Milliseconds(think(random));
      return next;
    };
    for (int i = 0; i < clients; ++i) {
      SimulatedRequest request;
      request.arrival = absl::UnixEpoch() + Milliseconds(0.7 * i);
      simulator.Add(request);
    }
    simulator.Run();
    const double per_second = static_cast<double>(simulator.Count(Fate::kServed)) / 10;
    const double ideal = 1000 * clients / (5 + 0.2 * clients + 0.4);
    EXPECT_GE(per_second, 0.93 * ideal) << clients;
  }
}

// One client alone never waits for company that does not come.
TEST(LoadTest, ASingleClientIsServedAtOnce) {
  const SimulatedModel model{"m", 5, 0.2, 32, 40};
  Simulator simulator(OptionsFor(model), ComputeOf(model));
  simulator.WarmUp();
  int left = 1000;
  simulator.on_answer = [&](const SimulatedOutcome&,
                            absl::Time now) -> std::optional<SimulatedRequest> {
    if (--left == 0) return std::nullopt;
    SimulatedRequest next;
    next.arrival = now + Milliseconds(0.3);
    return next;
  };
  SimulatedRequest request;
  request.arrival = absl::UnixEpoch();
  simulator.Add(request);
  simulator.Run();
  EXPECT_EQ(simulator.Count(Fate::kServed), 1000);
  EXPECT_EQ(simulator.LatencyQuantile(1), Milliseconds(5.2));
}

// N requests at one moment form whole batches, whatever the wake-up time of the instance.
TEST(LoadTest, SimultaneousRequestsFormWholeBatches) {
  for (double wake_ms : {0.0, 0.05}) {
    BatcherOptions options;
    options.batching.max_batch_size = 20;
    Simulator simulator(options, [](int, int64_t) { return Milliseconds(10); });
    simulator.wake_latency = Milliseconds(wake_ms);
    SimulatedRequest first;
    first.arrival = absl::UnixEpoch();
    simulator.Add(first);
    for (int i = 0; i < 60; ++i) {
      SimulatedRequest request;
      request.arrival = absl::UnixEpoch() + Milliseconds(1);
      simulator.Add(request);
    }
    simulator.Run();
    ASSERT_EQ(simulator.batches().size(), 4);
    EXPECT_EQ(simulator.batches()[0].rows, 1);
    for (int i = 1; i < 4; ++i) EXPECT_EQ(simulator.batches()[i].rows, 20);
  }
}

}  // namespace
}  // namespace inferd::scheduler
