// The threads' side of a servable: one lock around the policy core, one thread per instance.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "scheduler/batch_runner.h"
#include "scheduler/batcher.h"
#include "scheduler/busy_window.h"
#include "scheduler/clock.h"
#include "scheduler/request.h"
#include "scheduler/response_order.h"
#include "scheduler/servable.h"
#include "scheduler/statistics_recorder.h"

namespace inferd::scheduler {

class ServableState;

// A request from Submit until nobody refers to it any more.
class Job final : public RequestHandle,
                  public QueueEntry,
                  public std::enable_shared_from_this<Job> {
 public:
  Job(std::unique_ptr<Request> r, std::weak_ptr<ServableState> s)
      : request(std::move(r)), servable(std::move(s)) {}
  void Cancel() override;

  // Inputs are read by the instance that runs it; `done` is moved out by whoever claims the answer.
  std::unique_ptr<Request> request;
  const std::weak_ptr<ServableState> servable;
  // Set under the servable's lock by whoever gives the answer.
  std::atomic<bool> answered{false};
  RequestTiming timing;
  // Keeps the job alive while the batcher knows it.
  std::shared_ptr<Job> self;
};

// What is left to do for a job once its answer is known.
struct Answer {
  std::shared_ptr<Job> job;
  absl::AnyInvocable<void(Response)> done;
  Response response;
  absl::Duration total;
  bool counted = false;  // was admitted, so Drain waits for it
  bool running = false;  // an instance still reads the inputs
};

// Shared by the servable, its threads and handles, so that none of them can outlive what it uses.
// Nothing is executed, copied or called back while the lock is held.
class ServableState : public std::enable_shared_from_this<ServableState> {
 public:
  // Executors are moved out of `options`.
  ServableState(ServableOptions options, Clock& clock, std::shared_ptr<ServableObserver> observer);

  const ServableOptions& options() const { return options_; }
  int num_instances() const { return static_cast<int>(instances_.size()); }
  // Fired by Batcher::NextTimer; null disarms for good.
  void SetTimer(Timer* timer);

  std::shared_ptr<RequestHandle> Submit(std::unique_ptr<Request> request);
  void Cancel(Job* job);
  void OnTimer();
  absl::Status WarmUp();
  void Drain(absl::Time deadline);
  ServableStatistics statistics() const;

  // Body of an instance's thread; returns after Stop.
  void RunInstance(int index);
  void Stop();

 private:
  using Answers = std::vector<Answer>;
  struct Instance {
    std::unique_ptr<BatchRunner> runner;
    absl::CondVar wake;
    bool woken = false;          // the batcher waits for it to Take
    std::function<void()> task;  // to run between batches
    const Batch* running = nullptr;
    BusyWindow busy;
  };

  void Schedule(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Expire(absl::Time now, Answers* answers) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes `response` the answer of a job that has none.
  void Claim(Job* job, Response response, absl::Time now, Answers* answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Answers a job, queued or running, before its result is known.
  void Fail(Job* job, absl::Status status, absl::Time now, Answers* answers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginBatch(int index, const Batch& batch, std::vector<BatchItem>* items)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishBatch(int index, const Batch& batch, std::vector<BatchItem>* items,
                   const RunReport& report);
  // Calls observer and `done`; empties the list.
  void Deliver(Answers* answers) ABSL_LOCKS_EXCLUDED(mutex_);
  void DeliverInOrder() ABSL_LOCKS_EXCLUDED(mutex_);
  void CallBack(Answer* answer);
  absl::Status WarmUpInstance(int index);

  ServableOptions options_;
  Clock& clock_;
  const std::shared_ptr<ServableObserver> observer_;
  const std::vector<std::unique_ptr<Instance>> instances_;

  mutable absl::Mutex mutex_;
  Batcher batcher_ ABSL_GUARDED_BY(mutex_);
  StatisticsRecorder recorder_ ABSL_GUARDED_BY(mutex_);
  Timer* timer_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Time armed_for_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;  // admitted, `done` has not returned yet
  absl::CondVar all_answered_;
  // preserve_order: answers wait here for their turn; one thread at a time delivers.
  ResponseOrder<Answer> order_ ABSL_GUARDED_BY(mutex_);
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<QueueEntry*> expired_ ABSL_GUARDED_BY(mutex_);  // scratch
};

}  // namespace inferd::scheduler
