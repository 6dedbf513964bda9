// Filling a buffer with one element.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Writes element 0 of `value` to every element of `output`; types must be equal and not string.
inline void FillWithElement(const TensorView& value, const TensorView& output) {
  const int bits = ElementBits(output.type);
  auto* out = static_cast<uint8_t*>(output.data);
  const auto* in = static_cast<const uint8_t*>(value.data);
  const int64_t bytes = output.num_bytes();
  if (bits < 8) {
    // Every lane of the byte; the lanes past the last element hold zero.
    const uint8_t code = in[0] & static_cast<uint8_t>((1 << bits) - 1);
    uint8_t byte = 0;
    for (int shift = 0; shift < 8; shift += bits) byte |= static_cast<uint8_t>(code << shift);
    if (bytes > 0) std::memset(out, byte, bytes);
    if (const int64_t used = output.num_elements() * bits % 8; used != 0) {
      out[bytes - 1] &= static_cast<uint8_t>((1 << used) - 1);
    }
    return;
  }
  const int64_t size = bits / 8;
  if (size == 1) {
    if (bytes > 0) std::memset(out, in[0], bytes);
    return;
  }
  for (int64_t i = 0; i < bytes; i += size) std::memcpy(out + i, in, size);
}

}  // namespace inferd::engine
