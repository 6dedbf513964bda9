#include "engine/ops/reduction.h"

#include <algorithm>

namespace inferd::engine {

ReductionPlan PlanReduction(const Shape& input, absl::Span<const bool> is_reduced) {
  ReductionPlan plan;
  int64_t stride = 1;
  bool first = true, last_reduced = false;
  for (int d = input.rank() - 1; d >= 0; --d) {
    const int64_t extent = input[d];
    const int64_t own_stride = stride;
    stride *= extent;
    (is_reduced[d] ? plan.count : plan.outputs) *= extent;
    if (extent == 1) continue;
    auto& dims = is_reduced[d] ? plan.reduced : plan.kept;
    auto& strides = is_reduced[d] ? plan.reduced_strides : plan.kept_strides;
    if (!first && last_reduced == is_reduced[d]) {
      dims.back() *= extent;
    } else {
      dims.push_back(extent);
      strides.push_back(own_stride);
    }
    if (first) plan.inner_reduced = is_reduced[d];
    first = false;
    last_reduced = is_reduced[d];
  }
  for (auto* list : {&plan.kept, &plan.kept_strides, &plan.reduced, &plan.reduced_strides}) {
    std::reverse(list->begin(), list->end());
  }
  return plan;
}

}  // namespace inferd::engine
