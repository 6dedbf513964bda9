// The floating-point types below 16 bits: four 8-bit kinds (https://onnx.ai/onnx/technical/
// float8.html), 4-bit E2M1 and the power-of-two E8M0 of the OCP Microscaling formats
// (https://onnx.ai/onnx/technical/float4.html). They are storage only: this is their conversion
// to and from float.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/tensor/element_type.h"

namespace inferd::engine {

// Rounding of a conversion to E8M0; the other types round to nearest, ties to even.
enum class E8M0Rounding : uint8_t { kUp, kDown, kNearest };

// The value of `code` (its low 4 bits for kFloat4E2M1), exact. `type` must be one of
// kFloat8* (E8M0 included) or kFloat4E2M1.
float LowPrecisionToFloat(ElementType type, uint8_t code);

// To one of the four 8-bit kinds. Out of range, infinities included: the largest finite value of
// that sign when `saturate`, otherwise infinity where the type has it and NaN where not.
uint8_t FloatToFloat8(ElementType type, float value, bool saturate);

// Out of range saturates to 6; NaN becomes -0, as in the standard's own data.
uint8_t FloatToFloat4E2M1(float value);

// The sign is dropped; what it means for negative numbers is undefined. Zero and values below
// 2^-127 become 2^-127 when `saturate`; otherwise they round there or become NaN. Beyond 2^127,
// infinity included: 2^127 when `saturate`, NaN otherwise.
uint8_t FloatToFloat8E8M0(float value, bool saturate, E8M0Rounding rounding);

// To float rounding to odd, so that a second rounding to a type of at most 22 significant bits
// gives what rounding once would (S. Boldo, G. Melquiond, "When double rounding is odd").
float DoubleToFloatRoundToOdd(double value);

}  // namespace inferd::engine
