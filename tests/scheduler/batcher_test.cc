// Which batch runs, and when: single decisions of the policy core, exactly.
#include "scheduler/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/batcher_fixture.h"

namespace inferd::scheduler {
namespace {

using absl::Milliseconds;
using ::testing::ElementsAre;

TEST_F(BatcherTest, AnIdleInstanceTakesWhatIsThere) {
  Create();
  QueueEntry* a = Admit(At(0));
  const Batch batch = Start(At(0));
  EXPECT_THAT(batch.entries, ElementsAre(a));
  EXPECT_EQ(batch.reason, CloseReason::kIdle);
  EXPECT_EQ(batch.rows, 1);
  EXPECT_FALSE(batcher_->Wake(At(0)).has_value());
}

TEST_F(BatcherTest, WhileAllAreBusyRequestsGatherUpToAFullBatch) {
  Create();
  Admit(At(0));
  const Batch first = Start(At(0));
  for (int i = 0; i < 11; ++i) Admit(At(1));
  EXPECT_TRUE(Start(At(1)).entries.empty());
  const Batch second = Finish(first, At(10));
  EXPECT_EQ(second.rows, 8);
  EXPECT_EQ(second.reason, CloseReason::kFull);
  const Batch third = Finish(second, At(20));
  EXPECT_EQ(third.rows, 3);
  EXPECT_EQ(third.reason, CloseReason::kIdle);
  EXPECT_TRUE(Finish(third, At(30)).entries.empty());
  EXPECT_EQ(batcher_->in_flight(), 0);
}

TEST_F(BatcherTest, RequestsThatArriveWhileAnInstanceWakesUpJoinItsBatch) {
  Create();
  Admit(At(0));
  const std::optional<int> instance = batcher_->Wake(At(0));
  ASSERT_TRUE(instance.has_value());
  for (int i = 0; i < 4; ++i) {
    Admit(At(0.05));
    EXPECT_FALSE(batcher_->Wake(At(0.05)).has_value());
  }
  Batch batch;
  ASSERT_TRUE(batcher_->Take(*instance, At(0.1), &batch));
  EXPECT_EQ(batch.rows, 5);
}

TEST_F(BatcherTest, ASecondInstanceIsWokenOnlyForWorkTheFirstCannotTake) {
  options_.instance_groups = {0, 0};
  Create();
  for (int i = 0; i < 8; ++i) Admit(At(0));
  ASSERT_TRUE(batcher_->Wake(At(0)).has_value());
  EXPECT_FALSE(batcher_->Wake(At(0)).has_value());
  Admit(At(0));
  EXPECT_TRUE(batcher_->Wake(At(0)).has_value());
}

TEST_F(BatcherTest, AnInstanceWokenInVainGoesBackToIdle) {
  options_.instance_groups = {0, 0};
  Create();
  QueueEntry* a = Admit(At(0));
  const std::optional<int> instance = batcher_->Wake(At(0));
  ASSERT_TRUE(batcher_->Withdraw(a));
  Batch batch;
  EXPECT_FALSE(batcher_->Take(*instance, At(0), &batch));
  Admit(At(1));
  EXPECT_EQ(Start(At(1)).rows, 1);
  Admit(At(1));
  EXPECT_EQ(Start(At(1)).rows, 1);
}

TEST_F(BatcherTest, RequestsOfSeveralRowsAreNotOvertakenToFillABatch) {
  Create();
  Admit(At(0));
  const Batch first = Start(At(0));
  Admit(At(1), 5);
  Admit(At(2), 4);
  Admit(At(3), 3);
  const Batch second = Finish(first, At(10));
  EXPECT_EQ(second.rows, 5);
  EXPECT_EQ(second.reason, CloseReason::kFull) << "the next one does not fit";
  EXPECT_EQ(Finish(second, At(20)).rows, 7);
}

TEST_F(BatcherTest, AnOddShapeDoesNotCloseTheBatchOfOthers) {
  Create();
  Admit(At(0));
  const Batch first = Start(At(0));
  for (int i = 0; i < 6; ++i) Admit(At(1 + i), 1, i % 2);
  const Batch second = Finish(first, At(10));
  EXPECT_EQ(second.rows, 3);
  const Batch third = Finish(second, At(20));
  EXPECT_EQ(third.rows, 3);
  EXPECT_NE(second.signature_hash, third.signature_hash);
}

TEST_F(BatcherTest, UrgentLevelsGoFirst) {
  options_.queue.priorities = 3;
  options_.batching.max_batch_size = 2;
  Create();
  Admit(At(0));
  const Batch first = Start(At(0));
  std::vector<QueueEntry*> entries;
  for (int priority : {2, 1, 0, 7}) {
    QueueEntry* entry = New();
    entry->priority = priority;
    entries.push_back(Admit(At(1), entry));
  }
  EXPECT_EQ(entries[3]->priority, 2) << "levels beyond the last are the last";
  const Batch second = Finish(first, At(10));
  EXPECT_THAT(second.entries, ElementsAre(entries[2], entries[1]));
  EXPECT_THAT(Finish(second, At(20)).entries, ElementsAre(entries[0], entries[3]));
}

TEST_F(BatcherTest, NearerDeadlinesGoFirst) {
  options_.batching.max_batch_size = 2;
  Create();
  Admit(At(0));
  const Batch first = Start(At(0));
  QueueEntry* none = Admit(At(1));
  QueueEntry* far = New();
  far->deadline = At(900);
  Admit(At(2), far);
  QueueEntry* near = New();
  near->deadline = At(100);
  Admit(At(3), near);
  EXPECT_THAT(Finish(first, At(10)).entries, ElementsAre(near, far));
  (void)none;
}

TEST_F(BatcherTest, DeadlinesDoNotStarveRequestsWithoutOne) {
  options_.batching.max_batch_size = 1;
  Create();
  Admit(At(0));
  Batch running = Start(At(0));
  QueueEntry* patient = Admit(At(0));
  // Urgent requests keep coming faster than they are served.
  bool served = false;
  double now = 0;
  for (int i = 0; i < 150 && !served; ++i) {
    now += 10;
    for (int k = 0; k < 2; ++k) {
      QueueEntry* urgent = New();
      urgent->deadline = At(now + 500);
      TryAdmit(At(now), urgent).IgnoreError();
    }
    std::vector<QueueEntry*> expired;
    batcher_->Expire(At(now), &expired);
    running = Finish(running, At(now));
    served = running.entries[0] == patient;
  }
  EXPECT_TRUE(served);
  EXPECT_LE(now, 1100);
}

TEST_F(BatcherTest, UnbatchedModelsRunRequestsOneByOneOnAllInstances) {
  options_.batching.max_batch_size = 1;
  options_.instance_groups = {0, 0};
  Create();
  for (int i = 0; i < 3; ++i) Admit(At(0));
  const Batch first = Start(At(0));
  const Batch second = Start(At(0));
  EXPECT_EQ(first.entries.size(), 1);
  EXPECT_EQ(second.entries.size(), 1);
  EXPECT_EQ(first.reason, CloseReason::kUnbatched);
  EXPECT_NE(first.instance, second.instance);
  EXPECT_FALSE(batcher_->Wake(At(0)).has_value());
  EXPECT_EQ(Finish(first, At(1)).entries.size(), 1);
}

TEST_F(BatcherTest, MaxDelayHoldsABatchUntilItIsFullOrTheDelayIsOver) {
  options_.batching.max_delay = Milliseconds(5);
  Create();
  Admit(At(0));
  EXPECT_TRUE(Start(At(0)).entries.empty());
  EXPECT_EQ(batcher_->NextTimer(), At(5));
  Admit(At(3));
  EXPECT_TRUE(Start(At(3)).entries.empty());
  EXPECT_EQ(batcher_->NextTimer(), At(5));
  const Batch delayed = Start(At(5));
  EXPECT_EQ(delayed.rows, 2);
  EXPECT_EQ(delayed.reason, CloseReason::kDelay);
  Finish(delayed, At(6));
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(Start(At(10)).entries.empty());
    Admit(At(10));
  }
  const Batch full = Start(At(10));
  EXPECT_EQ(full.rows, 8);
  EXPECT_EQ(full.reason, CloseReason::kFull);
}

TEST_F(BatcherTest, AHeldBatchDoesNotHoldBackAFullOneOfAnotherShape) {
  options_.batching.max_delay = Milliseconds(50);
  Create();
  Admit(At(0), 1, 1);
  EXPECT_TRUE(Start(At(0)).entries.empty());
  Admit(At(1), 8, 2);
  const Batch batch = Start(At(1));
  EXPECT_EQ(batch.rows, 8);
  EXPECT_EQ(batch.reason, CloseReason::kFull);
}

TEST_F(BatcherTest, MaxDelayIsCutShortByTheBudget) {
  options_.batching.max_delay = Milliseconds(50);
  options_.batching.latency_budget = Milliseconds(20);
  Create();
  SeedAffine(4, 1);
  Admit(At(0));
  EXPECT_TRUE(Start(At(0)).entries.empty());
  // Two rows take 6 ms, and the model is not yet sure of it.
  const absl::Time latest = At(20) - batcher_->latency_model(0).Upper(2);
  EXPECT_EQ(batcher_->NextTimer(), latest);
  EXPECT_GT(latest, At(10));
  EXPECT_EQ(Start(latest).reason, CloseReason::kBudget);
}

TEST_F(BatcherTest, APreferredSizeCloses) {
  options_.batching.max_delay = Milliseconds(50);
  options_.batching.preferred_sizes = {4, 6};
  Create();
  for (int i = 0; i < 3; ++i) Admit(At(0));
  EXPECT_TRUE(Start(At(0)).entries.empty());
  Admit(At(1), 2);
  const Batch batch = Start(At(1));
  EXPECT_EQ(batch.rows, 3) << "a request is not split to reach the size";
  EXPECT_EQ(batch.reason, CloseReason::kFull);
}

TEST_F(BatcherTest, ABatchIsCutWhereMoreRowsWouldMakeTheOldestLate) {
  options_.batching.latency_budget = Milliseconds(40);
  Create();
  SeedAffine(0, 4);
  Admit(At(0), 4);
  const Batch first = Start(At(0));
  QueueEntry* oldest = Admit(At(1));
  for (int i = 0; i < 2; ++i) Admit(At(14));
  // Done later than the 16 ms it should have taken, which leaves 8 ms for the oldest: alone it
  // takes 4, two rows would take 8 if nothing goes wrong.
  const Batch second = Finish(first, At(33));
  EXPECT_EQ(second.reason, CloseReason::kBudget);
  EXPECT_THAT(second.entries, ElementsAre(oldest));
}

TEST_F(BatcherTest, OneLateRequestDoesNotMakeTheBatchesOfTheOthersSmall) {
  options_.batching.latency_budget = Milliseconds(40);
  Create();
  SeedAffine(10, 0.5);
  Admit(At(0));
  const Batch first = Start(At(0));
  Admit(At(1));
  for (int i = 0; i < 6; ++i) Admit(At(2));
  // The machine stalled: the waiting requests are late whatever is done.
  const Batch second = Finish(first, At(60));
  EXPECT_EQ(second.rows, 7);
}

TEST_F(BatcherTest, TheFirstRunOfAShapeDoesNotCountWhereEstimatesExist) {
  Create();
  SeedAffine(1, 1);
  const absl::Duration before = batcher_->latency_model(0).Mean(3);
  Admit(At(0), 3);
  Finish(Start(At(0)), At(900));  // built a plan
  EXPECT_EQ(batcher_->latency_model(0).Mean(3), before);
  Admit(At(1000), 3);
  Finish(Start(At(1000)), At(1005));
  EXPECT_GT(batcher_->latency_model(0).Mean(3), before);
}

TEST_F(BatcherTest, ShapesThatAreAllNewAreBelievedInTheEnd) {
  Create();
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(batcher_->latency_model(0).known());
    Admit(At(100 * i), 1, i);
    Finish(Start(At(100 * i)), At(100 * i + 7));
  }
  EXPECT_EQ(batcher_->latency_model(0).Mean(1), Milliseconds(7));
}

TEST_F(BatcherTest, GroupsLearnSeparatelyAndTheFasterIsPreferred) {
  options_.instance_groups = {0, 1};
  Create();
  batcher_->Seed(0, 1, Milliseconds(50));
  batcher_->Seed(1, 1, Milliseconds(5));
  Admit(At(0));
  EXPECT_EQ(Start(At(0)).instance, 1);
  EXPECT_EQ(batcher_->latency_model(0).Mean(1), Milliseconds(50));
}

}  // namespace
}  // namespace inferd::scheduler
