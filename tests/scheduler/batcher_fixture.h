// A batcher whose clock is an argument.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "scheduler/batcher.h"

namespace inferd::scheduler {

inline absl::Time At(double ms) { return absl::UnixEpoch() + absl::Milliseconds(ms); }

class BatcherTest : public ::testing::Test {
 protected:
  BatcherOptions options_;
  BatcherTest() {
    options_.model = "m";
    options_.batching.max_batch_size = 8;
  }

  void Create() { batcher_ = std::make_unique<Batcher>(options_); }

  QueueEntry* New(int64_t rows = 1, int64_t shape = 0) {
    entries_.push_back(std::make_unique<QueueEntry>());
    entries_.back()->rows = rows;
    entries_.back()->signature = {shape};
    return entries_.back().get();
  }
  QueueEntry* Admit(absl::Time now, int64_t rows = 1, int64_t shape = 0) {
    return Admit(now, New(rows, shape));
  }
  QueueEntry* Admit(absl::Time now, QueueEntry* entry) {
    entry->arrival = now;
    const absl::Status status = batcher_->Admit(entry, now);
    EXPECT_TRUE(status.ok()) << status;
    return entry;
  }
  absl::Status TryAdmit(absl::Time now, QueueEntry* entry) {
    entry->arrival = now;
    return batcher_->Admit(entry, now);
  }
  // Wakes an instance and closes its batch; the batch is empty if nothing is to be run.
  Batch Start(absl::Time now) {
    Batch batch;
    const std::optional<int> instance = batcher_->Wake(now);
    if (instance.has_value()) {
      EXPECT_TRUE(batcher_->Take(*instance, now, &batch));
    }
    return batch;
  }
  // Ends a batch; what its instance takes next.
  Batch Finish(const Batch& batch, absl::Time now) {
    batcher_->Done(batch, now);
    batcher_->Release(batch, now, true);
    Batch next;
    batcher_->Take(batch.instance, now, &next);
    return next;
  }
  // Compute time a + b * rows, known to the model from the start.
  void SeedAffine(double a, double b) {
    for (int64_t rows : {1, 2, 4, 8}) batcher_->Seed(0, rows, absl::Milliseconds(a + b * rows));
  }

  std::unique_ptr<Batcher> batcher_;
  std::vector<std::unique_ptr<QueueEntry>> entries_;
};

}  // namespace inferd::scheduler
