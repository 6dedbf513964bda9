// Bytes a model's contexts hold, for Model::memory().
#pragma once

#include <atomic>
#include <cstdint>

namespace inferd::engine {

// Shared by a model, its contexts, plans and buffers, and outlives them all. Thread-safe.
struct MemoryCounters {
  std::atomic<int64_t> arena_bytes{0};
  std::atomic<int64_t> output_bytes{0};
};

}  // namespace inferd::engine
