// Scan outputs of Loop and Scan: one tensor per iteration becomes one tensor with one more axis.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// One thread at a time.
class StackedOutput {
 public:
  // `expected`: how many slices will come, if known; memory for them is taken at the first one, up
  // to a limit. The rest grows by doubling.
  explicit StackedOutput(int64_t expected) : expected_(expected) {}

  // Copies. INVALID_ARGUMENT where type or shape differ from those of the slices before.
  absl::Status Append(const TensorView& slice);
  int64_t count() const { return count_; }

  // Slices along `axis` of the result, which may be negative; `reverse`: last slice first. With no
  // slice there is no shape: see EmptyStack.
  absl::StatusOr<Tensor> Finish(int64_t axis, bool reverse);

 private:
  absl::Status Grow();

  int64_t expected_;
  int64_t count_ = 0;
  int64_t capacity_ = 0;
  Shape slice_;
  Tensor stacked_;  // [capacity, slice...]
};

// What an iteration that never ran would have stacked: no slices, unknown dimensions are 0.
absl::StatusOr<Tensor> EmptyStack(ElementType type, const std::vector<int64_t>& slice_dims,
                                  int64_t axis);

}  // namespace inferd::engine
