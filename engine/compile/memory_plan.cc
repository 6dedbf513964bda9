#include "engine/compile/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/tensor/tensor.h"

namespace inferd::engine {
namespace {

size_t Aligned(size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace

MemoryPlan PlanMemory(absl::Span<const MemoryRequest> requests) {
  MemoryPlan plan;
  plan.offsets.assign(requests.size(), 0);
  std::vector<int> by_size(requests.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](int a, int b) { return requests[a].bytes > requests[b].bytes; });

  std::vector<int> placed;  // by offset
  placed.reserve(requests.size());
  for (int r : by_size) {
    const MemoryRequest& request = requests[r];
    const size_t bytes = Aligned(request.bytes);
    if (bytes == 0) continue;
    size_t best_offset = 0;
    size_t best_gap = std::numeric_limits<size_t>::max();
    size_t free_from = 0;
    for (int p : placed) {
      const MemoryRequest& other = requests[p];
      if (other.last < request.first || request.last < other.first) continue;
      const size_t offset = plan.offsets[p];
      if (offset > free_from && offset - free_from >= bytes && offset - free_from < best_gap) {
        best_gap = offset - free_from;
        best_offset = free_from;
      }
      free_from = std::max(free_from, offset + Aligned(other.bytes));
    }
    if (best_gap == std::numeric_limits<size_t>::max()) best_offset = free_from;
    plan.offsets[r] = best_offset;
    plan.arena_bytes = std::max(plan.arena_bytes, best_offset + bytes);
    const auto at = std::upper_bound(placed.begin(), placed.end(), best_offset,
                                     [&](size_t o, int p) { return o < plan.offsets[p]; });
    placed.insert(at, r);
  }
  return plan;
}

}  // namespace inferd::engine
