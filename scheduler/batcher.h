// The policy core: which requests to admit, which to run together and when. Pure: no threads, no
// locks, no clock; it is told about events and the time they happened, and returns decisions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "scheduler/arrival_rate.h"
#include "scheduler/caution.h"
#include "scheduler/latency_model.h"
#include "scheduler/request_queue.h"
#include "scheduler/returning_clients.h"
#include "scheduler/servable.h"

namespace inferd::scheduler {

struct BatcherOptions {
  std::string model;  // for messages
  BatchingOptions batching;
  QueueOptions queue;
  // One per instance: instances of one group share a latency model. Groups count from 0.
  std::vector<int> instance_groups = {0};
};

struct Batch {
  int instance = 0;
  CloseReason reason = CloseReason::kIdle;
  int64_t rows = 0;
  absl::Time start;
  size_t signature_hash = 0;
  std::vector<QueueEntry*> entries;  // in queue order
};

// The life of a request: Admit -> queued -> Take -> running -> Done; or it leaves early through
// Withdraw (queued only) or Expire. The life of an instance: idle -> (Wake) waking -> (Take)
// running -> (Done, Release) idle. After every event call Wake until it returns nothing, then
// arrange to call Expire at NextTimer().
//
// Not thread-safe.
class Batcher {
 public:
  explicit Batcher(BatcherOptions options);

  // Decides about a request that arrives at `now` (its `arrival`); on OK it is queued.
  // RESOURCE_EXHAUSTED with a retry hint (see admission.h) when the queue is full or the deadline
  // or budget cannot be met; DEADLINE_EXCEEDED when the deadline has already passed.
  absl::Status Admit(QueueEntry* entry, absl::Time now);

  // An idle instance that should start on a batch now, if there is one. The batch stays open
  // until the instance calls Take, so requests that arrive while it wakes up still join it.
  std::optional<int> Wake(absl::Time now);

  // Closes a batch for an instance that was woken or released. False: nothing is ready, it is
  // idle. Call Expire first: what has expired by `now` must not run.
  bool Take(int instance, absl::Time now, Batch* batch);

  // The batch has run and its requests are about to be answered: they leave the counts.
  void Done(const Batch& batch, absl::Time now);
  // The instance is free again and must Take. Updates the latency model if `measured` (the run
  // succeeded).
  void Release(const Batch& batch, absl::Time now, bool measured);

  // Takes a queued request out, for cancellation. False if it is not queued.
  bool Withdraw(QueueEntry* entry);
  // Appends the requests whose time is up. Queued ones have left; those still running (state
  // kRunning) stay counted until Done.
  void Expire(absl::Time now, std::vector<QueueEntry*>* expired);
  // Takes every queued request out.
  void Clear(std::vector<QueueEntry*>* removed);

  // When Expire and Wake next have something to do without a further event.
  absl::Time NextTimer() const;

  // Seeds the latency model of an instance's group before requests arrive.
  void Seed(int instance, int64_t rows, absl::Duration time);

  const RequestQueue& queue() const { return queue_; }
  // Queued and running, counted in one: what the queue limits bound.
  int64_t in_flight() const { return in_flight_; }
  int64_t in_flight_bytes() const { return in_flight_bytes_; }
  const LatencyModel& latency_model(int group) const { return models_[group]; }
  int num_groups() const { return static_cast<int>(models_.size()); }
  bool batches() const { return options_.batching.max_batch_size > 1; }

 private:
  enum class InstanceState : uint8_t { kIdle, kWaking, kRunning };
  struct Instance {
    int group = 0;
    InstanceState state = InstanceState::kIdle;
    absl::Duration expected;  // duration of the running batch
    absl::Time expected_end;
  };
  // A prefix of a bucket that may run as one batch.
  struct Prefix {
    int requests = 0;
    int64_t rows = 0;
    bool cut_by_size = false;
    bool cut_by_time = false;
    absl::Time oldest_arrival = absl::InfiniteFuture();
    // The earliest instant at which one of them has to be answered.
    absl::Time finish_by = absl::InfiniteFuture();
  };
  struct Decision {
    bool close = false;
    CloseReason reason = CloseReason::kIdle;
    int requests = 0;
    absl::Time recheck = absl::InfiniteFuture();  // if not closed
  };

  Prefix LongestPrefix(const Bucket& bucket, int64_t max_rows) const;
  // Shortens a prefix that cannot be answered in time as a whole, if that answers more requests
  // in time per unit of time.
  void CutByTime(const Bucket& bucket, const LatencyModel& model, absl::Time now,
                 Prefix* prefix) const;
  Decision Decide(const Bucket& bucket, int group, absl::Time now) const;
  // The bucket to run on an instance of `group`; null if none is ready. Sets recheck_.
  const Bucket* Choose(int group, absl::Time now, Decision* decision);
  // Until when to hold a batch of `rows` for clients that are about to return; InfinitePast() if
  // that would not serve more rows per second.
  absl::Time HoldForReturning(int64_t rows, const LatencyModel& model, absl::Time now) const;

  absl::Status CheckLimits(const QueueEntry& entry, absl::Time now) const;
  absl::Status CheckTime(const QueueEntry& entry, absl::Time now) const;
  // Where and when a request that joined the queue now would start to run.
  struct Forecast {
    int group = 0;
    absl::Time start;
    // Predicted durations (ns) of the batch that has to end first, and of those after it.
    double running = 0;
    double ahead = 0;
  };
  Forecast Predict(const QueueEntry& entry, absl::Time now) const;
  // The reserve for errors in a predicted time (ns).
  double Slack(const LatencyModel& model, double nanos) const;
  absl::Time Available(const Instance& instance, absl::Time now) const;
  // Time until the first instance is expected to be free.
  absl::Duration NextFree(absl::Time now) const;
  void UpdateSteadyBatch(int group, absl::Time now);
  void Leave(QueueEntry* entry);

  const BatcherOptions options_;
  const int64_t max_batch_;
  const bool has_budget_;
  const bool explicit_delay_;
  RequestQueue queue_;
  ExpirySet expiry_;
  ArrivalRate offered_;
  ReturningClients returning_;
  Caution caution_;
  std::vector<Instance> instances_;
  std::vector<int> idle_;  // the latest to become idle last
  int waking_ = 0;
  std::vector<LatencyModel> models_;
  // By group: the batch size that serves most within the budget at the present load. Admission
  // reckons with batches of this size.
  std::vector<int64_t> steady_batch_;
  absl::flat_hash_set<size_t> seen_shapes_;
  int first_runs_ = 0;
  absl::Time last_measured_ = absl::InfinitePast();
  absl::Time recheck_ = absl::InfiniteFuture();
  int64_t in_flight_ = 0;
  int64_t in_flight_bytes_ = 0;
  uint64_t next_sequence_ = 0;
  mutable std::vector<absl::Time> available_;  // scratch
  mutable std::vector<absl::Time> finish_by_;  // scratch
};

}  // namespace inferd::scheduler
