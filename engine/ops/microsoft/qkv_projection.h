// The merged projection of com.microsoft::Attention and QAttention: rows of x times one weight
// matrix whose columns hold queries, keys and values side by side.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/device/thread_pool.h"
#include "engine/tensor/float16.h"

namespace inferd::engine {

struct ProjectionShape {
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t columns = 0;
};

// Calls store(row, first_column, count, sums) for blocks that cover x * weights. `read_x` and
// `read_weight` turn elements into the number type of the sums.
template <typename Sum, typename X, typename W, typename ReadX, typename ReadW, typename Store>
void Project(const ProjectionShape& shape, const X* x, const W* weights, ReadX read_x,
             ReadW read_weight, Store store, ThreadPool& pool) {
  constexpr int64_t kRows = 8, kColumns = 64;
  const int64_t row_blocks = (shape.rows + kRows - 1) / kRows;
  const int64_t column_blocks = (shape.columns + kColumns - 1) / kColumns;
  pool.ParallelFor(row_blocks * column_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t row = task / column_blocks * kRows, column = task % column_blocks * kColumns;
      const int64_t rows = std::min(kRows, shape.rows - row);
      const int64_t columns = std::min(kColumns, shape.columns - column);
      Sum sums[kRows][kColumns] = {};
      Sum line[kColumns] = {};
      for (int64_t k = 0; k < shape.inner; ++k) {
        const W* w = weights + k * shape.columns + column;
        for (int64_t c = 0; c < columns; ++c) line[c] = read_weight(w[c], column + c);
        for (int64_t r = 0; r < rows; ++r) {
          const Sum factor = read_x(x[(row + r) * shape.inner + k]);
          for (int64_t c = 0; c < kColumns; ++c) sums[r][c] += factor * line[c];
        }
      }
      for (int64_t r = 0; r < rows; ++r) store(row + r, column, columns, sums[r]);
    }
  });
}

}  // namespace inferd::engine
