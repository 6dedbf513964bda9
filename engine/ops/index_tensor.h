// Index tensors as kernels read them at run time.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Element types of index inputs.
inline constexpr ElementTypeSet kIndexTypes = {ElementType::kInt32, ElementType::kInt64};

// Element i of an int32 or int64 tensor.
inline int64_t IndexAt(const TensorView& indices, int64_t i) {
  return indices.type == ElementType::kInt32 ? static_cast<const int32_t*>(indices.data)[i]
                                             : static_cast<const int64_t*>(indices.data)[i];
}

// INVALID_ARGUMENT: `index`, element `position` of input `name`, is outside [-size, size).
absl::Status IndexOutOfRange(const char* name, int64_t position, int64_t index, int64_t size);

// Maps *index from [-size, size) to [0, size); false where it is outside.
inline bool NormalizeIndex(int64_t size, int64_t* index) {
  if (*index < -size || *index >= size) return false;
  if (*index < 0) *index += size;
  return true;
}

}  // namespace inferd::engine
