// The first runs of every instance, before requests come.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "engine/status_macros.h"
#include "scheduler/servable_state.h"

namespace inferd::scheduler {
namespace {

// 1, 2, 4, ... and the largest.
std::vector<int64_t> WarmUpSizes(int64_t max_batch_size) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < max_batch_size; size *= 2) sizes.push_back(size);
  sizes.push_back(std::max<int64_t>(1, max_batch_size));
  return sizes;
}

bool HasFreeDimensions(const ServableOptions& options) {
  const size_t first = options.batching.max_batch_size > 1 ? 1 : 0;
  for (const TensorSpec& spec : options.inputs) {
    if (spec.optional) continue;
    if (spec.any_rank) return true;
    for (size_t d = first; d < spec.dims.size(); ++d) {
      if (spec.dims[d] < 0) return true;
    }
  }
  return false;
}

bool HasStrings(const ServableOptions& options) {
  return std::any_of(options.inputs.begin(), options.inputs.end(), [](const TensorSpec& spec) {
    return spec.type == engine::ElementType::kString;
  });
}

}  // namespace

absl::Status ServableState::WarmUpInstance(int index) {
  for (const int64_t rows : WarmUpSizes(options_.batching.max_batch_size)) {
    absl::StatusOr<Execution> execution;
    // The first run builds the plan for this shape; the second one is what later runs cost.
    for (int run = 0; run < 2; ++run) {
      execution = instances_[index]->runner->RunZeros(rows);
      if (execution.ok()) continue;
      if (execution.status().code() == absl::StatusCode::kInvalidArgument && HasStrings(options_)) {
        return absl::OkStatus();
      }
      return absl::Status(execution.status().code(),
                          absl::StrCat("warm-up of model '", options_.model, "', instance ", index,
                                       ", batch size ", rows, ": ", execution.status().message()));
    }
    absl::MutexLock lock(&mutex_);
    batcher_.Seed(index, rows,
                  execution->compute_input + execution->compute_infer + execution->compute_output);
  }
  return absl::OkStatus();
}

absl::Status ServableState::WarmUp() {
  if (HasFreeDimensions(options_)) return absl::OkStatus();
  // One instance at a time: side by side they would time each other's load.
  for (int index = 0; index < num_instances(); ++index) {
    absl::Status status;
    absl::Notification done;
    {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return absl::UnavailableError("the servable has been stopped");
      instances_[index]->task = [&] {
        status = WarmUpInstance(index);
        done.Notify();
      };
      instances_[index]->wake.Signal();
    }
    done.WaitForNotification();
    RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace inferd::scheduler
