// What the Scatter operators do where an update meets an element.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/element_type.h"

namespace inferd::engine {

// Combines `count` elements of `updates`, from element u, into `data`, from element d.
using ScatterUpdate = void (*)(const void* updates, int64_t u, void* data, int64_t d,
                               int64_t count);

// By the attribute "reduction": none (replace), add, mul, max or min. INVALID_ARGUMENT for a
// reduction `type` does not have. Integer sums and products wrap; max and min propagate NaN.
absl::StatusOr<ScatterUpdate> SelectScatterUpdate(const Attributes& attributes, ElementType type);

}  // namespace inferd::engine
