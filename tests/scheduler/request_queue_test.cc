#include "scheduler/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace inferd::scheduler {
namespace {

using ::testing::ElementsAre;

struct TestEntry : QueueEntry {
  TestEntry(uint64_t number, int64_t shape, int level, absl::Time due, int64_t row_count = 1) {
    sequence = number;
    signature = {shape};
    priority = level;
    urgency = due;
    expiry = due;
    rows = row_count;
    bytes = 10 * row_count;
  }
};

absl::Time At(int64_t ms) { return absl::UnixEpoch() + absl::Milliseconds(ms); }

TEST(RequestQueueTest, OrdersByPriorityThenDeadlineThenAdmission) {
  TestEntry late(0, 1, 0, At(90));
  TestEntry soon(1, 1, 0, At(10));
  TestEntry lesser(2, 1, 1, At(1));
  TestEntry tied(3, 1, 0, At(10));
  RequestQueue queue(2);
  for (QueueEntry* e : {&late, &soon, &lesser, &tied}) queue.Push(e);
  const Bucket* bucket = queue.FindBucket({1});
  ASSERT_NE(bucket, nullptr);
  EXPECT_THAT(bucket->entries, ElementsAre(&soon, &tied, &late, &lesser));
  EXPECT_EQ(queue.head(), &soon);
}

TEST(RequestQueueTest, CountsFollowEveryChange) {
  TestEntry a(0, 1, 0, At(1), 3);
  TestEntry b(1, 2, 1, At(2), 4);
  RequestQueue queue(2);
  queue.Push(&a);
  queue.Push(&b);
  EXPECT_EQ(queue.requests(), 2);
  EXPECT_EQ(queue.rows(), 7);
  EXPECT_EQ(queue.bytes(), 70);
  EXPECT_EQ(queue.num_buckets(), 2);
  queue.Remove(&a);
  EXPECT_EQ(queue.rows(), 4);
  EXPECT_EQ(queue.bytes(), 40);
  EXPECT_EQ(queue.FindBucket({1}), nullptr) << "empty buckets must not pile up";
  EXPECT_EQ(queue.head(), &b);
  queue.Remove(&b);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.num_buckets(), 0);
}

TEST(RequestQueueTest, RowsAheadOfTheLastAreAllRows) {
  TestEntry a(0, 1, 0, At(1), 3);
  TestEntry b(1, 2, 0, At(2), 4);
  RequestQueue queue(1);
  queue.Push(&a);
  queue.Push(&b);
  TestEntry next(2, 1, 0, At(3));
  EXPECT_EQ(queue.RowsAhead(next).rows, 7);
  EXPECT_EQ(queue.RowsAhead(next).own_bucket_rows, 3);
  TestEntry other_shape(2, 9, 0, At(3));
  EXPECT_EQ(queue.RowsAhead(other_shape).own_bucket_rows, 0);
}

TEST(RequestQueueTest, RowsAheadOfAnUrgentOneAreThoseItDoesNotOvertake) {
  TestEntry a(0, 1, 0, At(1), 3);
  TestEntry b(1, 1, 0, At(20), 4);
  TestEntry c(2, 1, 1, At(1), 5);
  RequestQueue queue(2);
  for (QueueEntry* e : {&a, &b, &c}) queue.Push(e);
  EXPECT_EQ(queue.RowsAhead(TestEntry(3, 1, 0, At(10))).rows, 3);
  EXPECT_EQ(queue.RowsAhead(TestEntry(3, 1, 0, At(30))).rows, 7);
  EXPECT_EQ(queue.RowsAhead(TestEntry(3, 1, 1, At(0))).rows, 7);
}

TEST(RequestQueueTest, LongWalksFallBackToTheRowsOfTheLevels) {
  std::vector<std::unique_ptr<TestEntry>> entries;
  RequestQueue queue(2);
  for (int i = 0; i < 2000; ++i) {
    entries.push_back(std::make_unique<TestEntry>(i, 1, i < 1500 ? 0 : 1, At(i)));
    queue.Push(entries.back().get());
  }
  // Overtakes 500 of level 1 and is behind 1000 of level 0.
  EXPECT_EQ(queue.RowsAhead(TestEntry(3000, 1, 0, At(1000))).rows, 1500);
  EXPECT_EQ(queue.RowsAhead(TestEntry(3000, 1, 0, At(100))).rows, 101);
}

TEST(ExpirySetTest, PopsInOrderAndOnlyWhatIsDue) {
  TestEntry a(0, 1, 0, At(5));
  TestEntry b(1, 1, 0, At(3));
  TestEntry never(2, 1, 0, absl::InfiniteFuture());
  ExpirySet set;
  for (QueueEntry* e : {&a, &b, &never}) set.Add(e);
  EXPECT_EQ(set.earliest(), At(3));
  EXPECT_EQ(set.PopExpired(At(2)), nullptr);
  EXPECT_EQ(set.PopExpired(At(3)), &b);
  EXPECT_EQ(set.PopExpired(At(4)), nullptr);
  set.Remove(&a);
  set.Remove(&a);
  EXPECT_EQ(set.earliest(), absl::InfiniteFuture());
}

}  // namespace
}  // namespace inferd::scheduler
