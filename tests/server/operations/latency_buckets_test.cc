#include "server/operations/latency_buckets.h"

#include <gtest/gtest.h>

#include <cmath>

namespace inferd::server {
namespace {

TEST(LatencyBucketsTest, BoundsAreInclusive) {
  EXPECT_EQ(BucketOf(kDurationBounds, 0), 0);
  EXPECT_EQ(BucketOf(kDurationBounds, 100'000), 0);
  EXPECT_EQ(BucketOf(kDurationBounds, 100'001), 1);
  EXPECT_EQ(BucketOf(kDurationBounds, INT64_MAX), static_cast<int>(kDurationBounds.size()));
  EXPECT_EQ(BucketOf(kBatchBounds, 1), 0);
  EXPECT_EQ(BucketOf(kBatchBounds, 3), 2);
}

TEST(LatencyBucketsTest, FineBucketsCoverEveryDurationNarrowly) {
  EXPECT_EQ(FineBucketOf(-5), 0);
  EXPECT_EQ(FineBucketOf(INT64_MAX), kFineBuckets - 1);
  int last = 0;
  for (double us = 0; us < (1 << 29); us = us * 1.01 + 1) {
    const int bucket = FineBucketOf(static_cast<int64_t>(std::floor(us)) * 1000);
    EXPECT_GE(bucket, last);
    last = bucket;
    EXPECT_LE(FineBucketStart(bucket), std::floor(us));
    EXPECT_GT(FineBucketStart(bucket + 1), std::floor(us));
    if (us >= kFineSteps) {
      EXPECT_LE(FineBucketStart(bucket + 1) / FineBucketStart(bucket), 1.0626);
    }
  }
}

TEST(LatencyBucketsTest, QuantilesAreWithinABucketsWidth) {
  FineCounts counts{};
  for (int ms = 1; ms <= 1000; ++ms) ++counts[FineBucketOf(int64_t{ms} * 1'000'000)];
  EXPECT_NEAR(FineQuantile(counts, 0.50), 0.500, 0.02);
  EXPECT_NEAR(FineQuantile(counts, 0.90), 0.900, 0.04);
  EXPECT_NEAR(FineQuantile(counts, 0.99), 0.990, 0.04);
  EXPECT_NEAR(FineShareWithin(counts, 0.25), 0.25, 0.02);
  EXPECT_EQ(FineShareWithin(counts, 100), 1);
}

TEST(LatencyBucketsTest, NothingCounted) {
  const FineCounts counts{};
  EXPECT_EQ(FineQuantile(counts, 0.99), 0);
  EXPECT_EQ(FineShareWithin(counts, 1), 1);
}

}  // namespace
}  // namespace inferd::server
