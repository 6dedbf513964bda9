// Executors for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "scheduler/executor.h"

namespace inferd::scheduler {

class FunctionExecutor : public Executor {
 public:
  using Function = std::function<absl::Status(absl::Span<const engine::TensorView>,
                                              std::vector<engine::Tensor>*)>;
  explicit FunctionExecutor(Function f) : function_(std::move(f)) {}
  absl::Status Execute(absl::Span<const engine::TensorView> inputs,
                       std::vector<engine::Tensor>* outputs) override {
    return function_(inputs, outputs);
  }

 private:
  const Function function_;
};

// Lets executions wait for the test. Thread-safe.
class Gate {
 public:
  // Called by the executor: announces itself and waits for Open.
  void Pass() {
    absl::MutexLock lock(&mutex_);
    ++arrived_;
    mutex_.Await(absl::Condition(
        +[](Gate* g)
             ABSL_EXCLUSIVE_LOCKS_REQUIRED(g->mutex_) { return g->open_ || g->permits_ > 0; },
        this));
    if (!open_) --permits_;
  }
  // Waits until `n` executions have arrived since the start.
  void AwaitArrived(int n) {
    absl::MutexLock lock(&mutex_);
    awaited_ = n;
    mutex_.Await(absl::Condition(
        +[](Gate* g)
             ABSL_EXCLUSIVE_LOCKS_REQUIRED(g->mutex_) { return g->arrived_ >= g->awaited_; },
        this));
  }
  void LetOnePass() {
    absl::MutexLock lock(&mutex_);
    ++permits_;
  }
  void Open() {
    absl::MutexLock lock(&mutex_);
    open_ = true;
  }
  int arrived() const {
    absl::MutexLock lock(&mutex_);
    return arrived_;
  }

 private:
  mutable absl::Mutex mutex_;
  int arrived_ ABSL_GUARDED_BY(mutex_) = 0;
  int awaited_ ABSL_GUARDED_BY(mutex_) = 0;
  int permits_ ABSL_GUARDED_BY(mutex_) = 0;
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
};

// Output i is a copy of input i.
inline absl::Status CopyInputs(absl::Span<const engine::TensorView> inputs,
                               std::vector<engine::Tensor>* outputs) {
  outputs->clear();
  for (const engine::TensorView& input : inputs) {
    auto output = engine::Tensor::Allocate(input.type, input.shape);
    if (!output.ok()) return output.status();
    if (input.type == engine::ElementType::kString) {
      const auto from = input.span<std::string>();
      std::copy(from.begin(), from.end(), output->mutable_data<std::string>());
    } else if (input.num_bytes() > 0) {
      std::memcpy(output->view().data, input.data, static_cast<size_t>(input.num_bytes()));
    }
    outputs->push_back(*std::move(output));
  }
  return absl::OkStatus();
}

}  // namespace inferd::scheduler
