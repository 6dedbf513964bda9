// NumPy's array file format.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/tensor/element_type.h"

namespace inferd::client {

struct NpyArray {
  engine::ElementType type;
  std::vector<int64_t> shape;
  std::string data;  // little-endian, row-major
};

// Versions 1.0 to 3.0 (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html) of
// numbers and booleans in C order. INVALID_ARGUMENT naming what is not supported.
absl::StatusOr<NpyArray> ParseNpy(const std::string& bytes);
// UNIMPLEMENTED for types NumPy has no name for.
absl::StatusOr<std::string> FormatNpy(engine::ElementType type, const std::vector<int64_t>& shape,
                                      const std::string& data);

}  // namespace inferd::client
