#include "scheduler/latency_model.h"

#include <gtest/gtest.h>

#include <random>

namespace inferd::scheduler {
namespace {

using absl::Milliseconds;

double Ms(absl::Duration d) { return absl::ToDoubleMilliseconds(d); }

TEST(LatencyModelTest, KnowsNothingAtFirst) {
  LatencyModel model;
  EXPECT_FALSE(model.known());
  EXPECT_EQ(model.Mean(4), absl::ZeroDuration());
  EXPECT_TRUE(model.Estimates().empty());
}

TEST(LatencyModelTest, InterpolatesBetweenMeasuredSizes) {
  LatencyModel model;
  model.Observe(1, Milliseconds(2));
  model.Observe(9, Milliseconds(10));
  EXPECT_DOUBLE_EQ(Ms(model.Mean(1)), 2);
  EXPECT_DOUBLE_EQ(Ms(model.Mean(5)), 6);
  EXPECT_DOUBLE_EQ(Ms(model.Mean(9)), 10);
  // Beyond: the slope of the last two.
  EXPECT_DOUBLE_EQ(Ms(model.Mean(17)), 18);
}

TEST(LatencyModelTest, OneSizeScalesUpProportionallyAndNotDown) {
  LatencyModel model;
  model.Observe(4, Milliseconds(8));
  EXPECT_DOUBLE_EQ(Ms(model.Mean(8)), 16);
  EXPECT_DOUBLE_EQ(Ms(model.Mean(1)), 8);
}

TEST(LatencyModelTest, FollowsAChangeOfSpeed) {
  LatencyModel model;
  for (int i = 0; i < 50; ++i) model.Observe(2, Milliseconds(10));
  EXPECT_NEAR(Ms(model.Mean(2)), 10, 0.01);
  for (int i = 0; i < 60; ++i) model.Observe(2, Milliseconds(30));
  EXPECT_NEAR(Ms(model.Mean(2)), 30, 1);
}

TEST(LatencyModelTest, OneStallHardlyMovesTheMean) {
  LatencyModel model;
  for (int i = 0; i < 50; ++i) model.Observe(2, Milliseconds(10));
  model.Observe(2, Milliseconds(5000));
  EXPECT_LE(Ms(model.Mean(2)), 11.001);
}

TEST(LatencyModelTest, MeansNeverDecreaseWithSizeAndFreshKnowledgeWins) {
  LatencyModel model;
  // A plan was built during this one; the truth for 8 is about 4 ms.
  model.Observe(8, Milliseconds(500));
  model.Observe(4, Milliseconds(3));
  EXPECT_LE(Ms(model.Mean(8)), 9.001) << "at most 1.5 times worse than linear";
  model.Observe(2, Milliseconds(5));
  EXPECT_GE(model.Mean(4), model.Mean(2));
  EXPECT_GE(model.Mean(8), model.Mean(4));

  std::mt19937 random(1);
  LatencyModel noisy;
  for (int i = 0; i < 2000; ++i) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % 32);
    noisy.Observe(rows, absl::Microseconds(100 + 50 * rows + random() % 2000));
    for (int64_t r = 1; r < 40; ++r) ASSERT_LE(noisy.Mean(r), noisy.Mean(r + 1)) << r;
  }
}

TEST(LatencyModelTest, MarginGrowsWithTheErrorOfPredictions) {
  LatencyModel exact;
  LatencyModel noisy;
  std::mt19937 random(1);
  std::lognormal_distribution<double> noise(0, 0.3);
  int64_t above = 0;
  const int kRuns = 5000;
  for (int i = 0; i < kRuns; ++i) {
    exact.Observe(4, Milliseconds(10));
    const absl::Duration time = Milliseconds(10) * noise(random);
    if (noisy.known() && time > noisy.Upper(4)) ++above;
    noisy.Observe(4, time);
  }
  EXPECT_NEAR(exact.margin(), 1.05, 1e-9);
  EXPECT_GT(noisy.margin(), 1.6);
  EXPECT_LT(noisy.margin(), 2.6);
  EXPECT_LT(above, kRuns * 2 / 100);
  EXPECT_EQ(noisy.Upper(4),
            absl::Nanoseconds(static_cast<int64_t>(noisy.MeanNanos(4) * noisy.margin())));
}

TEST(LatencyModelTest, ASingleRareStallDoesNotSetTheMargin) {
  LatencyModel model;
  for (int i = 0; i < 300; ++i) model.Observe(1, Milliseconds(10));
  model.Observe(1, Milliseconds(1000));
  EXPECT_LT(model.margin(), 1.2);
}

TEST(LatencyModelTest, BrokenClocksDoNoHarm) {
  LatencyModel model;
  model.Observe(1, absl::ZeroDuration());
  model.Observe(2, -Milliseconds(5));
  EXPECT_TRUE(model.known());
  EXPECT_GE(model.Mean(2), absl::ZeroDuration());
  EXPECT_LE(model.margin(), 4.0);
}

}  // namespace
}  // namespace inferd::scheduler
