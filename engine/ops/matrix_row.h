// The inner loop of the reference matrix products.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "engine/tensor/float16.h"

namespace inferd::engine {

// What a product of T sums in: double for floats; for integers uint64, which wraps as two's
// complement arithmetic of any narrower type does.
template <typename T>
using SumType = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

// A matrix in memory: element (i, j) lies at i * row_stride + j * column_stride.
template <typename T>
struct MatrixView {
  const T* data;
  int64_t row_stride;
  int64_t column_stride;
};

// Row i of A (inner columns) times B: calls store(j, sum) for every column j in [0, columns).
template <typename T, typename Store>
void MultiplyRow(const MatrixView<T>& a, int64_t i, const MatrixView<T>& b, int64_t inner,
                 int64_t columns, Store store) {
  constexpr int64_t kChunk = 128;
  using Sum = SumType<T>;
  for (int64_t first = 0; first < columns; first += kChunk) {
    const int64_t count = std::min(kChunk, columns - first);
    Sum sums[kChunk] = {};
    for (int64_t k = 0; k < inner; ++k) {
      const Sum factor = static_cast<Sum>(
          static_cast<ComputeType<T>>(a.data[i * a.row_stride + k * a.column_stride]));
      const T* row = b.data + k * b.row_stride + first * b.column_stride;
      if (b.column_stride == 1) {
        for (int64_t j = 0; j < count; ++j) {
          sums[j] += factor * static_cast<Sum>(static_cast<ComputeType<T>>(row[j]));
        }
      } else {
        for (int64_t j = 0; j < count; ++j) {
          sums[j] +=
              factor * static_cast<Sum>(static_cast<ComputeType<T>>(row[j * b.column_stride]));
        }
      }
    }
    for (int64_t j = 0; j < count; ++j) store(first + j, sums[j]);
  }
}

}  // namespace inferd::engine
