// Keys of the plan caches: what a plan was specialized for, as numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Appends rank and dimensions.
void AppendShape(const Shape& shape, std::vector<int64_t>& key);
// Appends the bytes of a plain tensor, eight to a number; -1 alone where data is null though there
// are elements (contents unknown). Strings with their lengths.
void AppendContents(const TensorView& tensor, std::vector<int64_t>& key);

}  // namespace inferd::engine
