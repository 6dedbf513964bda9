// How elementwise kernels cut a tensor: rows that lie contiguously and belong to one channel
// (plain) or one block of channels (blocked), each in pieces that stay in the first-level cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/device/thread_pool.h"
#include "engine/tensor/layout.h"
#include "engine/tensor/shape.h"

namespace inferd::engine::cpu {

struct ChannelRows {
  int64_t rows = 1;        // images * blocks
  int64_t row_length = 0;  // floats
  int64_t rows_per_image = 1;
  int lanes = 1;  // channels side by side: the block
  int tail = 0;   // channels in the last block of an image where it is not full, else 0

  // One row per image and block of channels. Plain layout: a block is one channel.
  static ChannelRows Of(const Shape& shape, Layout layout) {
    ChannelRows r;
    r.lanes = layout.channel_block;
    r.rows_per_image = (shape[1] + r.lanes - 1) / r.lanes;
    r.rows = shape[0] * r.rows_per_image;
    r.row_length = shape.Product(2, shape.rank()) * r.lanes;
    r.tail = static_cast<int>(shape[1] % r.lanes);
    return r;
  }
  // The whole tensor as one row: nothing depends on the channel.
  static ChannelRows Flat(const Shape& shape) {
    ChannelRows r;
    r.row_length = shape.NumElements();
    return r;
  }

  // Calls fn(row, offset in floats from the tensor's start, length) for pieces of all rows.
  template <typename Fn>
  void ForEachPiece(ThreadPool& threads, const Fn& fn) const {
    constexpr int64_t kPiece = 4096;        // floats; a multiple of every block
    constexpr int64_t kGrain = 4 * kPiece;  // floats worth waking a thread for
    if (rows == 0 || row_length == 0) return;
    const int64_t pieces = (row_length + kPiece - 1) / kPiece;
    const int64_t grain = std::max<int64_t>(1, kGrain / std::min(kPiece, row_length));
    threads.ParallelFor(rows * pieces, grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const int64_t row = p / pieces;
        const int64_t start = p % pieces * kPiece;
        fn(row, row * row_length + start, std::min(kPiece, row_length - start));
      }
    });
  }

  // Padding lanes of a piece of `row` at `y` become zero, as the layout demands.
  void ZeroPadding(int64_t row, float* y, int64_t length) const {
    if (tail == 0 || row % rows_per_image != rows_per_image - 1) return;
    for (int64_t i = 0; i < length; i += lanes) {
      std::memset(y + i + tail, 0, (lanes - tail) * sizeof(float));
    }
  }
};

}  // namespace inferd::engine::cpu
