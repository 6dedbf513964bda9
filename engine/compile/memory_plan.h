// Lifetimes -> offsets in one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace inferd::engine {

// One block of memory, in use during the steps [first, last], both ends included.
struct MemoryRequest {
  size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // one per request, multiples of kBufferAlignment
  size_t arena_bytes = 0;
};

// Greedy by size: the largest block first, each into the tightest gap that the blocks alive at
// the same time leave (Pisarchyk & Lee, "Efficient Memory Management for Deep Neural Net
// Inference", 2020, section 5.2). Blocks whose lifetimes overlap never share a byte. Requests of
// zero bytes get offset 0.
MemoryPlan PlanMemory(absl::Span<const MemoryRequest> requests);

}  // namespace inferd::engine
