// Runs closed batches on one instance: gathers inputs, executes, splits outputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "scheduler/clock.h"
#include "scheduler/executor.h"
#include "scheduler/request.h"
#include "scheduler/servable.h"

namespace inferd::scheduler {

// One request of a batch. The runner fills the response, except arrival and queue time.
struct BatchItem {
  const Request* request = nullptr;
  int64_t rows = 1;
  // Set when nobody waits for the answer any more; such a request is not retried.
  const std::atomic<bool>* abandoned = nullptr;
  Response response;
};

// What one Execute call cost.
struct Execution {
  int64_t rows = 0;
  absl::Duration compute_input, compute_infer, compute_output;
};

struct RunReport {
  std::vector<Execution> executions;  // the successful ones
  bool first_try = false;             // the batch ran as a whole
  int64_t retried = 0;                // requests run alone because their batch failed
};

// One thread at a time. Keeps its staging buffers between batches, so that a batch of sizes seen
// before allocates nothing.
class BatchRunner {
 public:
  // `options` and `clock` outlive the runner.
  BatchRunner(const ServableOptions& options, std::unique_ptr<Executor> executor, Clock& clock);

  // Runs the items as one batch. If that fails and there are several, each runs alone, so that
  // only the one at fault fails.
  void Run(absl::Span<BatchItem> items, RunReport* report);

  // One run with zeros as inputs (strings: "0"), `rows` rows where the model batches. Free
  // dimensions must not occur otherwise. Returns what it cost.
  absl::StatusOr<Execution> RunZeros(int64_t rows);

 private:
  // Reused memory for one gathered input.
  struct Staging {
    engine::BufferRef bytes;
    std::vector<std::string> strings;
  };

  absl::Status RunTogether(absl::Span<BatchItem> items, Execution* execution);
  absl::Status Gather(absl::Span<const BatchItem> items, int64_t rows);
  absl::Status GatherInput(absl::Span<const BatchItem> items, int64_t rows, size_t input);
  absl::Status Execute();
  absl::Status CheckOutputs(int64_t rows) const;
  absl::Status Split(absl::Span<BatchItem> items);
  bool batches() const { return options_.batching.max_batch_size > 1; }

  const ServableOptions& options_;
  const std::unique_ptr<Executor> executor_;
  Clock& clock_;
  std::vector<Staging> staging_;
  std::vector<TensorView> inputs_;
  std::vector<Tensor> outputs_;
};

}  // namespace inferd::scheduler
