// How the elements of a tensor lie in memory.
#pragma once

#include <cstdint>
#include <string>

#include "engine/tensor/element_type.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

// Plain is row-major and dense. A channel-blocked tensor of logical shape [N, C, spatial...]
// lies as [N, ceil(C / block), spatial..., block] (nChw8c, nChw16c). Lanes beyond C in the last
// block exist and hold zero: whoever writes such a tensor keeps them zero, since convolution
// kernels read them.
struct Layout {
  int16_t channel_block = 1;  // 1: plain

  static constexpr Layout Plain() { return {}; }
  static constexpr Layout Blocked(int block) { return {static_cast<int16_t>(block)}; }
  constexpr bool is_plain() const { return channel_block == 1; }
  constexpr bool operator==(const Layout&) const = default;

  // Elements a tensor of `shape` occupies, padding lanes included.
  int64_t PhysicalElements(const Shape& shape) const {
    if (is_plain()) return shape.NumElements();
    const int64_t blocks = (shape[1] + channel_block - 1) / channel_block;
    return shape[0] * blocks * channel_block * shape.Product(2, shape.rank());
  }
  // "plain" or "blocked8".
  std::string ToString() const {
    return is_plain() ? "plain" : "blocked" + std::to_string(channel_block);
  }
};

}  // namespace inferd::engine
