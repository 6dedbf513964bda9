// Quantization to uint8 by the range of the data: DynamicQuantizeLinear and the operators that
// quantize an operand themselves.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/ops/quantized_range.h"

namespace inferd::engine {

struct UnsignedQuantization {
  float scale = 1;
  uint8_t zero_point = 0;
};

// The finest scale and zero point with which [min(0, x...), max(0, x...)] fits; 1 where all are
// zero. NaN is passed over.
inline UnsignedQuantization FitUnsigned(const float* x, int64_t count) {
  float low = 0, high = 0;
  for (int64_t i = 0; i < count; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  UnsignedQuantization q;
  q.scale = high == low ? 1.0f : (high - low) / 255.0f;
  q.zero_point = static_cast<uint8_t>(RoundAndSaturate(-low / q.scale, 0, {0, 255}));
  return q;
}

inline void QuantizeUnsigned(UnsignedQuantization q, const float* x, int64_t count, uint8_t* y) {
  for (int64_t i = 0; i < count; ++i) {
    y[i] = static_cast<uint8_t>(
        static_cast<int32_t>(RoundAndSaturate(x[i] / q.scale, q.zero_point, {0, 255})));
  }
}

}  // namespace inferd::engine
