// The integers a quantized type holds, and the rounding every quantizing operator ends with.
#pragma once

#include "engine/tensor/element_type.h"

namespace inferd::engine {

struct QuantizedRange {
  float low = 0;
  float high = 0;
};

// The values of a quantized integer type; {0, 0} for any other type.
constexpr QuantizedRange RangeOf(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return {0, 255};
    case ElementType::kInt8:
      return {-128, 127};
    case ElementType::kUint16:
      return {0, 65535};
    case ElementType::kInt16:
      return {-32768, 32767};
    case ElementType::kUint4:
      return {0, 15};
    case ElementType::kInt4:
      return {-8, 7};
    case ElementType::kUint2:
      return {0, 3};
    case ElementType::kInt2:
      return {-2, 1};
    default:
      return {};
  }
}

// saturate(round(value) + zero_point), ties to even; NaN gives the lowest value. The zero point is
// within the range. Free of branches and calls, for the compiler to vectorize.
inline float RoundAndSaturate(float value, float zero_point, QuantizedRange range) {
  const float low = range.low - zero_point;
  const float high = range.high - zero_point;
  value = value > low ? value : low;
  value = value < high ? value : high;
  // Where the spacing of floats is 1, the addition itself rounds to an integer, to even at ties.
  constexpr float kIntegerSpacing = 0x1.8p23f;
  return (value + kIntegerSpacing) - kIntegerSpacing + zero_point;
}

}  // namespace inferd::engine
