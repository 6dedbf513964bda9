#include "engine/ops/microsoft/block_quantized.h"

#include "absl/strings/str_cat.h"

namespace inferd::engine {

absl::Status CheckBlockQuantization(int64_t bits, int64_t block_size) {
  if (bits != 2 && bits != 4 && bits != 8) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute bits is ", bits, ", expected 2, 4 or 8"));
  }
  if (block_size < 16 || (block_size & (block_size - 1)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("attribute block_size is ", block_size,
                                                   ", expected a power of two from 16 on"));
  }
  return absl::OkStatus();
}

void DequantizeRun(const uint8_t* packed, int64_t count, int bits, float scale, float zero_point,
                   float* out) {
  const int per_byte = 8 / bits;
  const int64_t bytes = (count + per_byte - 1) / per_byte;
  switch (bits) {
    case 8:
      for (int64_t i = 0; i < bytes; ++i) {
        out[i] = (static_cast<float>(packed[i]) - zero_point) * scale;
      }
      return;
    case 4:
      for (int64_t i = 0; i < bytes; ++i) {
        out[2 * i] = (static_cast<float>(packed[i] & 15) - zero_point) * scale;
        out[2 * i + 1] = (static_cast<float>(packed[i] >> 4) - zero_point) * scale;
      }
      return;
    default:
      for (int64_t i = 0; i < bytes; ++i) {
        for (int j = 0; j < 4; ++j) {
          out[4 * i + j] = (static_cast<float>(packed[i] >> (2 * j) & 3) - zero_point) * scale;
        }
      }
  }
}

}  // namespace inferd::engine
