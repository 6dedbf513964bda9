#include "tests/scheduler/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace inferd::scheduler {

Simulator::Simulator(BatcherOptions options, Compute compute)
    : options_(options),
      batcher_(std::move(options)),
      compute_(std::move(compute)),
      running_(options_.instance_groups.size()) {}

void Simulator::WarmUp() {
  for (size_t i = 0; i < options_.instance_groups.size(); ++i) {
    const int64_t max = std::max<int64_t>(1, options_.batching.max_batch_size);
    for (int64_t rows = 1;; rows = std::min(2 * rows, max)) {
      batcher_.Seed(static_cast<int>(i), rows, compute_(options_.instance_groups[i], rows));
      if (rows == max) break;
    }
  }
}

void Simulator::Add(const SimulatedRequest& request) {
  auto outcome = std::make_unique<SimulatedOutcome>();
  outcome->request = request;
  auto entry = std::make_unique<Entry>();
  entry->outcome = outcome.get();
  entry->rows = request.rows;
  entry->bytes = request.bytes;
  entry->signature = {request.shape};
  entry->priority = request.priority;
  entry->deadline = request.deadline;
  outcomes_.push_back(std::move(outcome));
  entries_.push_back(std::move(entry));
  Push(request.arrival, Kind::kArrival, entries_.size() - 1);
  if (request.cancel_at != absl::InfiniteFuture()) {
    Push(request.cancel_at, Kind::kCancel, entries_.size() - 1);
  }
}

void Simulator::Push(absl::Time when, Kind kind, size_t index) {
  events_.push(Event{when, kind, next_event_++, index});
}

void Simulator::Run() {
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    ASSERT_GE(event.when, now_);
    now_ = event.when;
    if (event.kind == Kind::kTimer && event.when == armed_) armed_ = absl::InfiniteFuture();
    Expire();
    switch (event.kind) {
      case Kind::kTimer:
        break;
      case Kind::kArrival: {
        Entry* entry = entries_[event.index].get();
        entry->arrival = now_;
        const int64_t requests = batcher_.in_flight();
        const int64_t bytes = batcher_.in_flight_bytes();
        absl::Status status = batcher_.Admit(entry, now_);
        if (status.ok()) {
          EXPECT_LT(requests, options_.queue.max_requests);
          EXPECT_LE(bytes + entry->bytes, options_.queue.max_bytes);
          ++live_;
          live_bytes_ += entry->bytes;
        } else {
          entry->outcome->refusal = std::move(status);
          Answer(entry, Fate::kRefused);
        }
        break;
      }
      case Kind::kCancel: {
        Entry* entry = entries_[event.index].get();
        if (batcher_.Withdraw(entry)) {
          --live_;
          live_bytes_ -= entry->bytes;
          Answer(entry, Fate::kCancelled);
        }
        break;
      }
      case Kind::kCompletion: {
        const Batch& batch = running_[event.index];
        batcher_.Done(batch, now_);
        for (QueueEntry* entry : batch.entries) {
          --live_;
          live_bytes_ -= entry->bytes;
          EXPECT_EQ(entry->state, QueueEntry::State::kLeft);
          Entry* e = static_cast<Entry*>(entry);
          if (e->outcome->fate == Fate::kPending) Answer(e, Fate::kServed);
        }
        batcher_.Release(batch, now_, true);
        Take(static_cast<int>(event.index));
        break;
      }
      case Kind::kTake:
        Take(static_cast<int>(event.index));
        break;
    }
    WakeAndArm();
    CheckCounts();
  }
  EXPECT_EQ(batcher_.in_flight(), 0);
  EXPECT_EQ(batcher_.in_flight_bytes(), 0);
  EXPECT_TRUE(batcher_.queue().empty());
  for (const auto& outcome : outcomes_) EXPECT_NE(outcome->fate, Fate::kPending);
}

void Simulator::Expire() {
  std::vector<QueueEntry*> expired;
  batcher_.Expire(now_, &expired);
  for (QueueEntry* entry : expired) {
    EXPECT_EQ(entry->expiry, now_) << "expired late";
    Entry* e = static_cast<Entry*>(entry);
    if (entry->state == QueueEntry::State::kRunning) {
      Answer(e, Fate::kExpiredRunning);
    } else {
      --live_;
      live_bytes_ -= entry->bytes;
      Answer(e, Fate::kExpired);
    }
  }
}

void Simulator::Take(int instance) {
  Batch& batch = running_[instance];
  if (!batcher_.Take(instance, now_, &batch)) return;
  CheckBatch(batch);
  const absl::Duration time =
      std::max(absl::Nanoseconds(1), compute_(options_.instance_groups[instance], batch.rows));
  for (QueueEntry* entry : batch.entries) {
    Entry* e = static_cast<Entry*>(entry);
    e->outcome->start = now_;
    e->outcome->batch_rows = batch.rows;
  }
  batches_.push_back({now_, now_ + time, batch.rows, instance, batch.reason});
  Push(now_ + time, Kind::kCompletion, static_cast<size_t>(instance));
}

void Simulator::WakeAndArm() {
  while (const std::optional<int> instance = batcher_.Wake(now_)) {
    if (wake_latency == absl::ZeroDuration()) {
      Take(*instance);
    } else {
      Push(now_ + wake_latency, Kind::kTake, static_cast<size_t>(*instance));
    }
  }
  const absl::Time next = batcher_.NextTimer();
  if (next < armed_) {
    EXPECT_GT(next, now_) << "a timer in the past would spin";
    armed_ = next;
    Push(next, Kind::kTimer, 0);
  }
}

void Simulator::Answer(Entry* entry, Fate fate) {
  EXPECT_EQ(entry->outcome->fate, Fate::kPending) << "answered twice";
  entry->outcome->fate = fate;
  entry->outcome->end = now_;
  if (on_answer) {
    if (auto next = on_answer(*entry->outcome, now_)) Add(*next);
  }
}

void Simulator::CheckBatch(const Batch& batch) {
  ASSERT_FALSE(batch.entries.empty());
  EXPECT_EQ(batch.start, now_);
  int64_t rows = 0;
  const QueueEntry* previous = nullptr;
  for (const QueueEntry* entry : batch.entries) {
    rows += entry->rows;
    EXPECT_EQ(entry->signature, batch.entries[0]->signature) << "unequal shapes in a batch";
    EXPECT_EQ(entry->state, QueueEntry::State::kRunning);
    EXPECT_GT(entry->expiry, now_) << "ran an expired request";
    EXPECT_EQ(static_cast<const Entry*>(entry)->outcome->fate, Fate::kPending);
    if (previous != nullptr) {
      EXPECT_TRUE(EntryOrder()(previous, entry));
    }
    previous = entry;
  }
  EXPECT_EQ(rows, batch.rows);
  if (batcher_.batches()) {
    EXPECT_LE(batch.rows, options_.batching.max_batch_size);
  } else {
    EXPECT_EQ(batch.entries.size(), 1);
  }
  const Bucket* rest = batcher_.queue().FindBucket(batch.entries[0]->signature);
  if (rest != nullptr) {
    EXPECT_TRUE(EntryOrder()(batch.entries.back(), *rest->entries.begin())) << "overtaken";
  }
}

void Simulator::CheckCounts() {
  EXPECT_EQ(batcher_.in_flight(), live_);
  EXPECT_EQ(batcher_.in_flight_bytes(), live_bytes_);
  EXPECT_LE(live_, options_.queue.max_requests);
  EXPECT_LE(live_bytes_, options_.queue.max_bytes);
}

int64_t Simulator::Count(Fate fate) const {
  return std::count_if(outcomes_.begin(), outcomes_.end(),
                       [&](const auto& o) { return o->fate == fate; });
}

int64_t Simulator::RowsWithin(absl::Duration limit) const {
  int64_t rows = 0;
  for (const auto& o : outcomes_) {
    if (o->fate == Fate::kServed && o->end - o->request.arrival <= limit) rows += o->request.rows;
  }
  return rows;
}

absl::Duration Simulator::LatencyQuantile(double q) const {
  std::vector<absl::Duration> latencies;
  for (const auto& o : outcomes_) {
    if (o->fate == Fate::kServed) latencies.push_back(o->end - o->request.arrival);
  }
  if (latencies.empty()) return absl::InfiniteDuration();
  const size_t index = std::min(latencies.size() - 1, static_cast<size_t>(q * latencies.size()));
  std::nth_element(latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(index),
                   latencies.end());
  return latencies[index];
}

std::vector<SimulatedRequest> PoissonArrivals(double per_second, absl::Time begin,
                                              absl::Duration duration, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(per_second);
  std::vector<SimulatedRequest> requests;
  for (absl::Time t = begin + absl::Seconds(gap(random)); t < begin + duration;
       t += absl::Seconds(gap(random))) {
    SimulatedRequest request;
    request.arrival = t;
    requests.push_back(request);
  }
  return requests;
}

}  // namespace inferd::scheduler
