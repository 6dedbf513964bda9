// NumPy's .npy files
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Versions 1 to 3; little-endian numbers, complex numbers and bools in C order. INVALID_ARGUMENT
// saying what was found for anything else, and for a file whose data does not fit its header.
absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes);
// As ParseNpy, with errors that name the file; also those of ReadFile (engine/whole_file.h).
absl::StatusOr<Tensor> ReadNpyFile(const std::string& path);

// Version 1, plain layout. UNIMPLEMENTED for element types NumPy has no name for.
absl::StatusOr<std::string> FormatNpy(const TensorView& tensor);
absl::Status WriteNpyFile(const std::string& path, const TensorView& tensor);

}  // namespace inferd::engine
