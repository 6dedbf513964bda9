// Reference-counted buffers that come back: graph outputs and values that cross segments.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "engine/device/device.h"
#include "engine/runtime/memory_counters.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Buffers are of a few size classes (at most an eighth larger than asked for), so that varying
// lengths reuse each other's memory. A buffer returns when its last reference dies, on any thread,
// also after the pool's owner is gone. What the pool keeps is bounded: at most kMaxFree buffers,
// and no more bytes than kKeepBytes or were in use at once lately, whichever is more. Thread-safe.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static constexpr size_t kMaxFree = 64;
  static constexpr size_t kKeepBytes = size_t{16} << 20;
  // "Lately" is this many acquisitions, one to two times.
  static constexpr int kWindow = 256;

  // Memory comes from the device's staging allocator. `device` outlives every buffer.
  static std::shared_ptr<BufferPool> Create(Device& device,
                                            std::shared_ptr<MemoryCounters> counters);
  ~BufferPool();

  // At least `bytes`, kBufferAlignment-aligned, contents undefined. Allocates only when no buffer
  // of the class is free. RESOURCE_EXHAUSTED when memory is short.
  absl::StatusOr<BufferRef> Acquire(size_t bytes);

  size_t free_bytes() const;

  // The size class of a request.
  static size_t ClassBytes(size_t bytes);

 private:
  class PooledBuffer;

  BufferPool(Device& device, std::shared_ptr<MemoryCounters> counters);
  void Return(PooledBuffer* buffer);

  Device& device_;
  const std::shared_ptr<MemoryCounters> counters_;
  mutable absl::Mutex mutex_;
  std::vector<PooledBuffer*> free_ ABSL_GUARDED_BY(mutex_);  // least recently returned first
  size_t free_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // Most bytes in use at once, in the window that runs and in the one before it.
  size_t window_peak_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t last_window_peak_ ABSL_GUARDED_BY(mutex_) = 0;
  int window_count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace inferd::engine
