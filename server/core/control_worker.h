// One thread for control calls that take long (loading, unloading a model), so that they never
// hold up a transport thread.
#pragma once

#include <deque>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace inferd::server {

// Thread-safe.
class ControlWorker {
 public:
  ControlWorker();
  // Finishes the task that runs; those that wait are called with CANCELLED.
  ~ControlWorker();

  // Called exactly once: with OK on the worker's thread, one task after the other, or with the
  // reason why its work is not to be done (RESOURCE_EXHAUSTED when too many wait, CANCELLED).
  using Task = absl::AnyInvocable<void(const absl::Status&) &&>;
  void Post(Task task);

 private:
  static constexpr size_t kMaxWaiting = 256;

  void Run();

  absl::Mutex mutex_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace inferd::server
