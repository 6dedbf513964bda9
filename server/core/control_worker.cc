#include "server/core/control_worker.h"

#include <utility>

namespace inferd::server {

ControlWorker::ControlWorker() : thread_([this] { Run(); }) {}

ControlWorker::~ControlWorker() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
  for (Task& task : tasks_) std::move(task)(absl::CancelledError("the server is stopping"));
}

void ControlWorker::Post(Task task) {
  {
    absl::MutexLock lock(&mutex_);
    if (tasks_.size() < kMaxWaiting) {
      tasks_.push_back(std::move(task));
      return;
    }
  }
  std::move(task)(absl::ResourceExhaustedError(
      "too many repository calls are waiting; try again when those before have finished"));
}

void ControlWorker::Run() {
  while (true) {
    Task task;
    {
      absl::MutexLock lock(&mutex_);
      auto wake = [this]()
                      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_ || !tasks_.empty(); };
      mutex_.Await(absl::Condition(&wake));
      if (stop_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    std::move(task)(absl::OkStatus());
  }
}

}  // namespace inferd::server
