// Rotary position embedding of strided heads (https://arxiv.org/abs/2104.09864).
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/device/thread_pool.h"
#include "engine/tensor/float16.h"

namespace inferd::engine {

// Turns pairs of elements of one head: (i, half + i), or (2i, 2i + 1) where interleaved, by the
// angle whose cosine and sine are given. What lies behind the pairs is copied. `y` may be `x`.
template <typename T>
void RotateHead(const T* x, const T* cosines, const T* sines, int64_t half, int64_t size,
                bool interleaved, T* y) {
  const int64_t step = interleaved ? 2 : 1, partner = interleaved ? 1 : half;
  for (int64_t i = 0; i < half; ++i) {
    const float c = static_cast<float>(cosines[i]), s = static_cast<float>(sines[i]);
    const float a = static_cast<float>(x[step * i]), b = static_cast<float>(x[step * i + partner]);
    y[step * i] = static_cast<T>(c * a - s * b);
    y[step * i + partner] = static_cast<T>(s * a + c * b);
  }
  if (x != y) std::copy(x + 2 * half, x + size, y + 2 * half);
}

// Heads [batch, rows, heads] of `size` elements at any strides.
struct RotaryHeads {
  int64_t batch = 0;
  int64_t rows = 0;
  int64_t heads = 0;
  int64_t size = 0;
  int64_t half = 0;  // pairs that turn; 2 * half <= size
  bool interleaved = false;
  int64_t batch_stride = 0, row_stride = 0, head_stride = 0;  // of x
  int64_t y_batch_stride = 0, y_row_stride = 0, y_head_stride = 0;
};

// cache_row(batch, row) is the row of the caches, [any, half], that holds the angles.
template <typename T, typename CacheRow>
void RotateHeads(const RotaryHeads& h, const T* x, const T* cosines, const T* sines, T* y,
                 CacheRow cache_row, ThreadPool& pool) {
  const int64_t grain = std::max<int64_t>(1, 8192 / std::max<int64_t>(1, h.heads * h.size));
  pool.ParallelFor(h.batch * h.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / h.rows, r = i % h.rows;
      const int64_t cached = cache_row(b, r) * h.half;
      for (int64_t head = 0; head < h.heads; ++head) {
        RotateHead(x + b * h.batch_stride + r * h.row_stride + head * h.head_stride,
                   cosines + cached, sines + cached, h.half, h.size, h.interleaved,
                   y + b * h.y_batch_stride + r * h.y_row_stride + head * h.y_head_stride);
      }
    }
  });
}

}  // namespace inferd::engine
