// The output_datatype attribute of operators that make numbers from nothing.
#pragma once

#include "absl/status/statusor.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/element_type.h"

namespace inferd::engine {

// The element type the attribute names; float where it is absent. INVALID_ARGUMENT unless numeric.
absl::StatusOr<ElementType> OutputDatatype(const Attributes& attributes);

}  // namespace inferd::engine
