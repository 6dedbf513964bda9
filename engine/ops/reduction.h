// Geometry of a reduction: which elements of the input fold into each element of the output.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

// The input seen as two sets of merged dimensions, kept and reduced, each with strides into the
// row-major input. Dimensions of one are dropped; neighbours of the same set are merged.
struct ReductionPlan {
  using Dims = absl::InlinedVector<int64_t, 8>;

  Dims kept, kept_strides;        // outermost first; empty: one output element
  Dims reduced, reduced_strides;  // outermost first; empty: one input element per output
  int64_t outputs = 1;            // product of kept
  int64_t count = 1;              // product of reduced: input elements per output element
  // Whether the innermost non-trivial dimension of the input is reduced; then the elements of
  // one output come in contiguous runs of reduced.back().
  bool inner_reduced = false;

  // Offset in the input of the first element that folds into output `index`.
  int64_t Offset(int64_t index) const {
    int64_t offset = 0;
    for (int d = static_cast<int>(kept.size()) - 1; d >= 0; --d) {
      offset += index % kept[d] * kept_strides[d];
      index /= kept[d];
    }
    return offset;
  }
};

// `is_reduced[d]` tells whether dimension d is reduced.
ReductionPlan PlanReduction(const Shape& input, absl::Span<const bool> is_reduced);

// Calls fn(offset) for every combination of the reduced dimensions except the innermost
// `skip_inner` ones, relative to an output's Offset. Zero combinations if a dimension is zero.
template <typename Fn>
void ForEachReducedRow(const ReductionPlan& plan, int skip_inner, Fn&& fn) {
  if (plan.count == 0) return;
  const int rank = static_cast<int>(plan.reduced.size()) - skip_inner;
  absl::InlinedVector<int64_t, 8> position(rank > 0 ? rank : 0, 0);
  int64_t offset = 0;
  while (true) {
    fn(offset);
    int d = rank - 1;
    for (; d >= 0; --d) {
      offset += plan.reduced_strides[d];
      if (++position[d] < plan.reduced[d]) break;
      position[d] = 0;
      offset -= plan.reduced[d] * plan.reduced_strides[d];
    }
    if (d < 0) return;
  }
}

}  // namespace inferd::engine
