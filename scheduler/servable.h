// A model version being served: its queue, batcher and instances behind one Submit.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "scheduler/clock.h"
#include "scheduler/executor.h"
#include "scheduler/request.h"

namespace inferd::scheduler {

// Why a batch was closed.
enum class CloseReason : uint8_t {
  kFull,       // max_batch_size, or a preferred size was reached
  kBudget,     // waiting longer would break the oldest request's budget
  kIdle,       // an instance was idle and waiting would not pay
  kDelay,      // the explicit max_delay of the configuration ran out
  kUnbatched,  // the model does not batch
};
inline constexpr int kNumCloseReasons = 5;
absl::string_view CloseReasonName(CloseReason reason);

struct BatchingOptions {
  // 1 or less: unbatched. Inputs and outputs are joined along dimension 0.
  int64_t max_batch_size = 1;
  // The P99 to keep for queue + compute; infinite: no budget, batches close when an instance is
  // idle.
  absl::Duration latency_budget = absl::InfiniteDuration();
  // Explicit knobs; unset by default.
  absl::Duration max_delay = absl::InfiniteDuration();
  std::vector<int64_t> preferred_sizes;
  bool preserve_order = false;
};

// The limits bound what is waiting and running together, exactly.
struct QueueOptions {
  int64_t max_requests = 1000;
  int64_t max_bytes = int64_t{256} << 20;
  // Longest time in the queue of a request without a deadline of its own.
  absl::Duration timeout = absl::InfiniteDuration();
  int priorities = 1;
};

struct InstanceOptions {
  std::string device = "cpu";
  int threads = 1;
};

struct ServableOptions {
  std::string model;  // for messages
  std::string version;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  BatchingOptions batching;
  QueueOptions queue;
  // One instance per executor.
  std::vector<std::pair<InstanceOptions, std::unique_ptr<Executor>>> instances;
};

// Counters and latencies since creation; all monotonic, one consistent snapshot. Every request
// that was not refused as invalid is counted in success or fail once; each request of a batch
// counts the compute times of the whole batch.
struct DurationSum {
  uint64_t count = 0;
  absl::Duration total;
};
struct BatchSizeStatistics {
  uint64_t executions = 0;
  absl::Duration compute_input, compute_infer, compute_output;
};
struct ServableStatistics {
  DurationSum success, fail, queue, compute_input, compute_infer, compute_output;
  uint64_t inference_count = 0;                    // rows inferred with success
  uint64_t execution_count = 0;                    // batches executed
  absl::Time last_inference;                       // wall-clock
  std::map<int64_t, BatchSizeStatistics> batches;  // by executed batch size
  std::array<uint64_t, kNumCloseReasons> close_reasons{};
  uint64_t rejected = 0;  // refused by admission (RESOURCE_EXHAUSTED)
  uint64_t expired = 0;   // DEADLINE_EXCEEDED
  uint64_t cancelled = 0;
  uint64_t retried = 0;     // requests run alone because the batch they were in failed
  int64_t queue_depth = 0;  // requests waiting
  int64_t queue_bytes = 0;
  int64_t in_flight = 0;           // waiting + running
  double instance_busy_ratio = 0;  // share of instance time spent running, last seconds
  std::map<int64_t, absl::Duration> estimated_compute;  // the latency model, by batch size
  double latency_margin = 1;  // what estimates are multiplied with where a budget is at stake
};

// Told about every finished request and every executed batch, for metrics. Called from instance
// threads: must be quick and must not block.
class ServableObserver {
 public:
  virtual ~ServableObserver() = default;
  virtual void OnRequestDone(const absl::Status& status, const RequestTiming& timing,
                             absl::Duration total) = 0;
  virtual void OnBatch(CloseReason reason, int64_t rows, absl::Duration compute) = 0;
};

// Thread-safe.
class Servable {
 public:
  // `clock` and `observer` (may be null) outlive the servable.
  static absl::StatusOr<std::shared_ptr<Servable>> Create(
      ServableOptions options, Clock& clock, std::shared_ptr<ServableObserver> observer);
  virtual ~Servable() = default;  // drains with a deadline that has passed

  // The executors have been moved out of `instances`.
  virtual const ServableOptions& options() const = 0;
  // Validates (types, shapes, equal batch dimensions, batch size limit), admits and queues.
  // Errors are reported through request->done, like every other outcome: INVALID_ARGUMENT for a
  // bad request, RESOURCE_EXHAUSTED when the queue is full or the deadline cannot be met,
  // UNAVAILABLE while draining. Later: DEADLINE_EXCEEDED at the request's deadline or queue
  // timeout, CANCELLED, or the error of the run. Admission's hint when to try again is read with
  // RetryAfter (admission.h). Element types are named as the engine names them; a front end that
  // wants its protocol's names in messages compares with options().inputs first. The handle may
  // be dropped.
  virtual std::shared_ptr<RequestHandle> Submit(std::unique_ptr<Request> request) = 0;
  // Runs the batch sizes 1, 2, 4, ... and the largest on every instance with zero inputs (strings:
  // "0"), on the instance's own thread: once to build plans, once to seed the latency model. Call
  // before the first Submit. Shapes with free dimensions other than the batch are skipped, and so
  // are models with string inputs that refuse "0". An error names the instance and batch size.
  virtual absl::Status WarmUp() = 0;
  // Stops admission, finishes what was admitted, returns when idle or at `deadline` (then the
  // rest is failed with UNAVAILABLE).
  virtual void Drain(absl::Time deadline) = 0;
  virtual ServableStatistics statistics() const = 0;
};

}  // namespace inferd::scheduler
