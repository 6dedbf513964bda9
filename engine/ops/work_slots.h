// Scratch memory for kernels whose threads each need their own.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/kernel/kernel.h"

namespace inferd::engine {

// Divides `items` into at most `threads` runs of neighbours, each with its own part of the
// kernel's workspace.
class WorkSlots {
 public:
  WorkSlots(int64_t items, int threads, size_t bytes_per_slot)
      : items_(items),
        slots_(std::max<int64_t>(1, std::min<int64_t>(items, threads))),
        bytes_((bytes_per_slot + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment) {}

  size_t workspace_bytes() const { return static_cast<size_t>(slots_) * bytes_; }

  // Calls fn(begin, end, memory) for each run.
  template <typename Fn>
  void Run(KernelContext& context, Fn&& fn) const {
    char* workspace = static_cast<char*>(context.workspace());
    context.threads().ParallelFor(slots_, 1, [&](int64_t first, int64_t last) {
      for (int64_t slot = first; slot < last; ++slot) {
        const int64_t share = items_ / slots_, rest = items_ % slots_;
        const int64_t begin = slot * share + std::min(slot, rest);
        fn(begin, begin + share + (slot < rest ? 1 : 0), workspace + slot * bytes_);
      }
    });
  }

 private:
  int64_t items_;
  int64_t slots_;
  size_t bytes_;
};

}  // namespace inferd::engine
