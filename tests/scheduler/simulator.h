// Drives the policy core on virtual time with instances that are models of time, and checks at
// every step what must always hold.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <vector>

#include "absl/time/time.h"
#include "scheduler/batcher.h"

namespace inferd::scheduler {

struct SimulatedRequest {
  absl::Time arrival;
  int64_t rows = 1;
  int64_t bytes = 1;
  int64_t shape = 0;
  int priority = 0;
  absl::Time deadline = absl::InfiniteFuture();
  absl::Time cancel_at = absl::InfiniteFuture();
};

enum class Fate { kPending, kServed, kRefused, kExpired, kExpiredRunning, kCancelled };

struct SimulatedOutcome {
  SimulatedRequest request;
  Fate fate = Fate::kPending;
  absl::Time start;
  absl::Time end;
  int64_t batch_rows = 0;
  absl::Status refusal;
};

struct SimulatedBatch {
  absl::Time start, end;
  int64_t rows = 0;
  int instance = 0;
  CloseReason reason = CloseReason::kIdle;
};

class Simulator {
 public:
  // Time an instance of `group` needs for `rows`.
  using Compute = std::function<absl::Duration(int group, int64_t rows)>;

  Simulator(BatcherOptions options, Compute compute);

  // Runs the batch sizes 1, 2, 4... through the latency model, as a warm-up would.
  void WarmUp();
  // Called with every answered request; may return the client's next one.
  std::function<std::optional<SimulatedRequest>(const SimulatedOutcome&, absl::Time now)> on_answer;
  // Time from Wake to Take.
  absl::Duration wake_latency;

  void Add(const SimulatedRequest& request);
  // Runs until nothing is left to happen.
  void Run();

  const std::vector<std::unique_ptr<SimulatedOutcome>>& outcomes() const { return outcomes_; }
  const std::vector<SimulatedBatch>& batches() const { return batches_; }
  const Batcher& batcher() const { return batcher_; }
  absl::Time now() const { return now_; }

  int64_t Count(Fate fate) const;
  // Served within `limit` of arrival, in rows.
  int64_t RowsWithin(absl::Duration limit) const;
  absl::Duration LatencyQuantile(double q) const;

 private:
  struct Entry : QueueEntry {
    SimulatedOutcome* outcome = nullptr;
  };
  enum class Kind { kTimer, kCompletion, kCancel, kTake, kArrival };
  struct Event {
    absl::Time when;
    Kind kind;
    uint64_t number;
    size_t index;
    bool operator>(const Event& o) const {
      if (when != o.when) return when > o.when;
      if (kind != o.kind) return kind > o.kind;
      return number > o.number;
    }
  };

  void Push(absl::Time when, Kind kind, size_t index);
  void Expire();
  void Take(int instance);
  void WakeAndArm();
  void Answer(Entry* entry, Fate fate);
  void CheckBatch(const Batch& batch);
  void CheckCounts();

  const BatcherOptions options_;
  Batcher batcher_;
  Compute compute_;
  std::vector<std::unique_ptr<SimulatedOutcome>> outcomes_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Batch> running_;  // by instance
  std::vector<SimulatedBatch> batches_;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
  uint64_t next_event_ = 0;
  absl::Time now_ = absl::UnixEpoch();
  absl::Time armed_ = absl::InfiniteFuture();
  int64_t live_ = 0;
  int64_t live_bytes_ = 0;
};

// Poisson arrivals of one row each.
std::vector<SimulatedRequest> PoissonArrivals(double per_second, absl::Time begin,
                                              absl::Duration duration, uint64_t seed);

}  // namespace inferd::scheduler
