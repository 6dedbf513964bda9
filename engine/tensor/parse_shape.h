// Shapes as people write them on a command line.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

// "1x3x224x224" or "1,3,224,224"; "scalar" or nothing is a scalar. INVALID_ARGUMENT for anything
// else and for more elements than can be counted.
absl::StatusOr<Shape> ParseShape(absl::string_view text);

}  // namespace inferd::engine
