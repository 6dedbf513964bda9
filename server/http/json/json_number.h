// Numbers of JSON text.
#pragma once

#include <cstdint>

#include "engine/tensor/float16.h"

namespace inferd::server {

// Reads a number (RFC 8259, section 6; for floating-point types also NaN, Infinity and Inf with an
// optional minus sign) at `at`, and returns the position after it. On failure returns null and
// sets *error to a phrase that fits after "element 7 ". The result is the nearest value of T.
// T: the integer types up to 64 bits, float, double, Float16, BFloat16.
template <typename T>
const char* ReadNumber(const char* at, const char* end, T* value, const char** error);

}  // namespace inferd::server
