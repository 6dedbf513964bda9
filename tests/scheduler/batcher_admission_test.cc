// Whom the batcher takes in and whom it lets expire: single decisions, exactly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/admission.h"
#include "scheduler/batcher.h"
#include "tests/scheduler/batcher_fixture.h"

namespace inferd::scheduler {
namespace {

using absl::Milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BatcherAdmissionTest : public BatcherTest {};

TEST_F(BatcherAdmissionTest, LimitsCountQueuedAndRunningRequestsExactly) {
  options_.queue.max_requests = 3;
  Create();
  Admit(At(0));
  const Batch running = Start(At(0));
  Admit(At(1));
  QueueEntry* third = Admit(At(1));
  const absl::Status refused = TryAdmit(At(1), New());
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("Exceeds maximum queue size"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("retry after "));
  EXPECT_GE(RetryAfter(refused).value(), Milliseconds(1));
  EXPECT_EQ(RetryAfter(absl::ResourceExhaustedError("x")), std::nullopt);
  ASSERT_TRUE(batcher_->Withdraw(third));
  Admit(At(2));
  EXPECT_FALSE(TryAdmit(At(2), New()).ok());
  batcher_->Done(running, At(3));
  Admit(At(3));
  EXPECT_FALSE(TryAdmit(At(3), New()).ok());
}

TEST_F(BatcherAdmissionTest, BytesAreLimitedToo) {
  options_.queue.max_bytes = 100;
  Create();
  QueueEntry* a = New();
  a->bytes = 60;
  Admit(At(0), a);
  Start(At(0));
  QueueEntry* b = New();
  b->bytes = 41;
  EXPECT_EQ(TryAdmit(At(0), b).code(), absl::StatusCode::kResourceExhausted);
  b->bytes = 40;
  EXPECT_TRUE(TryAdmit(At(0), b).ok());
  EXPECT_EQ(batcher_->in_flight_bytes(), 100);
  QueueEntry* huge = New();
  huge->bytes = 101;
  const absl::Status never = TryAdmit(At(0), huge);
  EXPECT_EQ(never.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryAfter(never), std::nullopt) << "a retry would be in vain";
}

TEST_F(BatcherAdmissionTest, DeadlinesExpireWhileAllInstancesAreBusy) {
  Create();
  Admit(At(0));
  const Batch running = Start(At(0));
  QueueEntry* entry = New();
  entry->deadline = At(7.25);
  Admit(At(1), entry);
  batcher_->Wake(At(1));
  EXPECT_EQ(batcher_->NextTimer(), At(7.25));
  std::vector<QueueEntry*> expired;
  batcher_->Expire(At(7.25) - absl::Nanoseconds(1), &expired);
  EXPECT_TRUE(expired.empty());
  batcher_->Expire(At(7.25), &expired);
  EXPECT_THAT(expired, ElementsAre(entry));
  EXPECT_EQ(entry->state, QueueEntry::State::kLeft);
  EXPECT_EQ(batcher_->in_flight(), 1);
  EXPECT_TRUE(Finish(running, At(10)).entries.empty());
}

TEST_F(BatcherAdmissionTest, ADeadlineRunsOnWhileTheRequestRunsButAQueueTimeoutDoesNot) {
  options_.queue.timeout = Milliseconds(5);
  options_.batching.max_batch_size = 2;
  Create();
  QueueEntry* own = New();
  own->deadline = At(6);
  Admit(At(0), own);
  QueueEntry* queue_only = Admit(At(0));
  const Batch batch = Start(At(0));
  EXPECT_THAT(batch.entries, ElementsAre(queue_only, own));
  std::vector<QueueEntry*> expired;
  batcher_->Expire(At(100), &expired);
  EXPECT_THAT(expired, ElementsAre(own));
  EXPECT_EQ(own->state, QueueEntry::State::kRunning);
  EXPECT_EQ(batcher_->in_flight(), 2) << "its memory is still in use";
  Finish(batch, At(101));
  EXPECT_EQ(batcher_->in_flight(), 0);
}

TEST_F(BatcherAdmissionTest, TheQueueTimeoutAppliesToRequestsWithoutADeadline) {
  options_.queue.timeout = Milliseconds(5);
  Create();
  Admit(At(0));
  Start(At(0));
  QueueEntry* own = New();
  own->deadline = At(50);
  Admit(At(1), own);
  QueueEntry* without = Admit(At(1));
  std::vector<QueueEntry*> expired;
  batcher_->Expire(At(6), &expired);
  EXPECT_THAT(expired, ElementsAre(without));
  batcher_->Expire(At(50), &expired);
  EXPECT_THAT(expired, ElementsAre(without, own));
}

TEST_F(BatcherAdmissionTest, ADeadlineThatHasPassedIsNotAdmitted) {
  Create();
  QueueEntry* entry = New();
  entry->deadline = At(10);
  EXPECT_EQ(TryAdmit(At(10), entry).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(batcher_->in_flight(), 0);
}

TEST_F(BatcherAdmissionTest, ADeadlineThatCannotBeMetIsRefusedAtOnce) {
  options_.batching.max_batch_size = 1;
  Create();
  batcher_->Seed(0, 1, Milliseconds(10));
  Admit(At(0));
  Start(At(0));
  QueueEntry* earlier = New();
  earlier->deadline = At(25);
  Admit(At(0), earlier);
  // Free at 10 and then at 20, so done at 30.
  QueueEntry* hopeless = New();
  hopeless->deadline = At(29);
  const absl::Status refused = TryAdmit(At(0), hopeless);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryAfter(refused).value(), Milliseconds(1));
  QueueEntry* possible = New();
  possible->deadline = At(24);
  EXPECT_TRUE(TryAdmit(At(0), possible).ok()) << "goes before those with later deadlines";
}

TEST_F(BatcherAdmissionTest, AnOldEstimateRefusesNobodyWhileAnInstanceIsFree) {
  options_.batching.max_batch_size = 1;
  Create();
  batcher_->Seed(0, 1, Milliseconds(500));
  Admit(At(0));
  Finish(Start(At(0)), At(500));
  auto with_deadline = [&](double now) {
    QueueEntry* entry = New();
    entry->deadline = At(now + 100);
    return TryAdmit(At(now), entry);
  };
  EXPECT_EQ(with_deadline(600).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(with_deadline(1600).ok()) << "runs, and so renews the estimate";
}

TEST_F(BatcherAdmissionTest, WhatWouldBreakTheBudgetIsRefusedAtOnce) {
  options_.batching.latency_budget = Milliseconds(25);
  options_.batching.max_batch_size = 1;
  Create();
  for (int i = 0; i < 300; ++i) batcher_->Seed(0, 1, Milliseconds(10));
  Admit(At(0));
  Start(At(0));
  Admit(At(0));                                         // 20 ms
  const absl::Status refused = TryAdmit(At(0), New());  // 30 ms
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GE(RetryAfter(refused).value(), Milliseconds(5));
  EXPECT_LE(RetryAfter(refused).value(), Milliseconds(7));
  EXPECT_FALSE(TryAdmit(At(4), New()).ok());
  EXPECT_TRUE(TryAdmit(At(7), New()).ok());
}

TEST_F(BatcherAdmissionTest, ABudgetBelowOneRunStillServes) {
  options_.batching.latency_budget = Milliseconds(1);
  options_.batching.max_batch_size = 1;
  Create();
  for (int i = 0; i < 300; ++i) batcher_->Seed(0, 1, Milliseconds(10));
  Admit(At(0));
  Start(At(0));
  EXPECT_TRUE(TryAdmit(At(5), New()).ok()) << "keeps the instance busy";
  EXPECT_FALSE(TryAdmit(At(5), New()).ok());
}

TEST_F(BatcherAdmissionTest, AnOverdueBatchMakesAdmissionCautious) {
  options_.batching.latency_budget = Milliseconds(40);
  options_.batching.max_batch_size = 1;
  Create();
  for (int i = 0; i < 300; ++i) batcher_->Seed(0, 1, Milliseconds(10));
  Admit(At(0));
  Start(At(0));
  EXPECT_TRUE(TryAdmit(At(1), New()).ok());
  EXPECT_FALSE(TryAdmit(At(100), New()).ok()) << "it was due at 10 and hangs";
}

}  // namespace
}  // namespace inferd::scheduler
