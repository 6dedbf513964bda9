#include "scheduler/statistics_recorder.h"

namespace inferd::scheduler {
namespace {

void Add(DurationSum* sum, absl::Duration d) {
  ++sum->count;
  sum->total += d;
}

}  // namespace

void StatisticsRecorder::AddRequest(const absl::Status& status, const RequestTiming& timing,
                                    int64_t rows, absl::Duration total) {
  if (status.ok()) {
    Add(&totals_.success, total);
    Add(&totals_.queue, timing.queue);
    Add(&totals_.compute_input, timing.compute_input);
    Add(&totals_.compute_infer, timing.compute_infer);
    Add(&totals_.compute_output, timing.compute_output);
    totals_.inference_count += static_cast<uint64_t>(rows);
    return;
  }
  Add(&totals_.fail, total);
  // Only admission and the queue use these codes for requests that did not run; a run that fails
  // with one of them has a batch size.
  if (timing.batch_size > 0) return;
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      ++totals_.expired;
      break;
    case absl::StatusCode::kCancelled:
      ++totals_.cancelled;
      break;
    case absl::StatusCode::kResourceExhausted:
      ++totals_.rejected;
      break;
    default:
      break;
  }
}

void StatisticsRecorder::AddBatch(CloseReason reason, const RunReport& report,
                                  absl::Time wall_clock) {
  ++totals_.close_reasons[static_cast<size_t>(reason)];
  totals_.retried += static_cast<uint64_t>(report.retried);
  for (const Execution& execution : report.executions) {
    ++totals_.execution_count;
    totals_.last_inference = wall_clock;
    BatchSizeStatistics& batch = totals_.batches[execution.rows];
    ++batch.executions;
    batch.compute_input += execution.compute_input;
    batch.compute_infer += execution.compute_infer;
    batch.compute_output += execution.compute_output;
  }
}

}  // namespace inferd::scheduler
