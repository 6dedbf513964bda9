// Walking the elements of broadcast operands.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

// How N dense row-major operands, each broadcastable to `output`, are read in the order of the
// output's elements. Dimensions of one are dropped and neighbours that every operand walks alike
// are merged, so that a row (the innermost dimension) is as long as it can be; along a row every
// operand advances by 1 or stands still.
template <size_t N>
struct BroadcastPlan {
  using Strides = absl::InlinedVector<int64_t, 8>;

  Strides dims;                    // merged output dimensions, at least one
  std::array<Strides, N> strides;  // elements; 0 where the operand is broadcast
  int64_t elements = 0;            // of the output

  int64_t row_length() const { return dims.back(); }
  // Whether operand i advances along a row.
  bool varies(int i) const { return strides[i].back() != 0; }
  // Whether operand i has the output's own order: its offset is the output's index.
  bool dense(int i) const { return dims.size() == 1 && (varies(i) || elements <= 1); }
};

// Operands of lower rank are aligned at their last dimension. The shapes must broadcast: shape
// inference has checked.
template <size_t N>
BroadcastPlan<N> PlanBroadcast(const Shape& output, const std::array<const Shape*, N>& inputs) {
  const int rank = output.rank();
  BroadcastPlan<N> plan;
  plan.elements = output.NumElements();
  // Built innermost first, reversed at the end.
  std::array<int64_t, N> dense_stride;
  dense_stride.fill(1);
  for (int d = rank - 1; d >= 0; --d) {
    std::array<int64_t, N> stride;
    for (size_t i = 0; i < N; ++i) {
      const int own = d - (rank - inputs[i]->rank());
      const int64_t extent = own >= 0 ? (*inputs[i])[own] : 1;
      stride[i] = extent == 1 ? 0 : dense_stride[i];
      dense_stride[i] *= extent;
    }
    if (output[d] == 1) continue;
    bool merge = !plan.dims.empty();
    for (size_t i = 0; merge && i < N; ++i) {
      merge = stride[i] == plan.strides[i].back() * plan.dims.back();
    }
    if (merge) {
      plan.dims.back() *= output[d];
      continue;
    }
    plan.dims.push_back(output[d]);
    for (size_t i = 0; i < N; ++i) plan.strides[i].push_back(stride[i]);
  }
  if (plan.dims.empty()) {
    plan.dims.push_back(1);
    for (size_t i = 0; i < N; ++i) plan.strides[i].push_back(0);
  }
  std::reverse(plan.dims.begin(), plan.dims.end());
  for (auto& strides : plan.strides) std::reverse(strides.begin(), strides.end());
  return plan;
}

// Calls fn(index, offsets, count) for runs of consecutive output elements that lie in one row and
// together cover [begin, end): output elements index ... index + count - 1, where operand i is
// read from offsets[i] on.
template <size_t N, typename Fn>
void ForEachRow(const BroadcastPlan<N>& plan, int64_t begin, int64_t end, Fn&& fn) {
  const int last = static_cast<int>(plan.dims.size()) - 1;
  const int64_t length = plan.dims[last];
  absl::InlinedVector<int64_t, 8> position(plan.dims.size());
  std::array<int64_t, N> offsets{};
  int64_t rest = begin;
  for (int d = last; d >= 0; --d) {
    position[d] = rest % std::max<int64_t>(plan.dims[d], 1);
    rest /= std::max<int64_t>(plan.dims[d], 1);
    for (size_t i = 0; i < N; ++i) offsets[i] += position[d] * plan.strides[i][d];
  }
  while (begin < end) {
    const int64_t count = std::min(end - begin, length - position[last]);
    fn(begin, offsets, count);
    begin += count;
    // On to the start of the next row.
    for (size_t i = 0; i < N; ++i) offsets[i] -= position[last] * plan.strides[i][last];
    position[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      for (size_t i = 0; i < N; ++i) offsets[i] += plan.strides[i][d];
      if (++position[d] < plan.dims[d]) break;
      position[d] = 0;
      for (size_t i = 0; i < N; ++i) offsets[i] -= plan.dims[d] * plan.strides[i][d];
    }
  }
}

}  // namespace inferd::engine
