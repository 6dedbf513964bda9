// Made-up inputs, to try a model at load.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/runtime/model.h"
#include "engine/tensor/tensor.h"

namespace inferd::repository {

// One tensor per input, undefined for optional ones. A free first dimension becomes `rows`, other
// free dimensions `size`, and then `has_free_dims` is set. The same values at every call.
// RESOURCE_EXHAUSTED where the inputs would be too large to try.
absl::StatusOr<std::vector<engine::Tensor>> MakeTrialInputs(
    const std::vector<engine::TensorInfo>& inputs, int64_t rows, int64_t size, bool* has_free_dims);

}  // namespace inferd::repository
