// Weights quantized block by block along their rows, as com.microsoft's MatMulNBits and
// GatherBlockQuantized carry them: unsigned values of 2, 4 or 8 bits, low bits first, with a
// scale and a zero point per block.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace inferd::engine {

// INVALID_ARGUMENT naming the attribute unless bits is 2, 4 or 8 and block_size a power of two
// from 16 on.
absl::Status CheckBlockQuantization(int64_t bits, int64_t block_size);

// The zero point of values stored without a sign when none is given.
constexpr float DefaultZeroPoint(int bits) { return static_cast<float>(1 << (bits - 1)); }

// Value `index` of a packed array.
inline int PackedValue(const uint8_t* packed, int64_t index, int bits) {
  const int64_t bit = index * bits;
  return packed[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
}

// out[i] = (value i - zero_point) * scale for i < count, values starting at a whole byte. Writes
// up to a whole byte's values beyond count.
void DequantizeRun(const uint8_t* packed, int64_t count, int bits, float scale, float zero_point,
                   float* out);

}  // namespace inferd::engine
