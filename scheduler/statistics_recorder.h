// Accumulates the counters of ServableStatistics.
#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "scheduler/batch_runner.h"
#include "scheduler/request.h"
#include "scheduler/servable.h"

namespace inferd::scheduler {

// Not thread-safe.
class StatisticsRecorder {
 public:
  // A request was answered, `total` after its arrival. `rows`: what it would add to
  // inference_count.
  void AddRequest(const absl::Status& status, const RequestTiming& timing, int64_t rows,
                  absl::Duration total);
  // A batch ran. `wall_clock`: the time of day.
  void AddBatch(CloseReason reason, const RunReport& report, absl::Time wall_clock);

  const ServableStatistics& totals() const { return totals_; }

 private:
  ServableStatistics totals_;
};

}  // namespace inferd::scheduler
