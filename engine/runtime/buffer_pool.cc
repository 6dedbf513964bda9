#include "engine/runtime/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"

namespace inferd::engine {

class BufferPool::PooledBuffer final : public Buffer {
 public:
  PooledBuffer(BufferRef memory, size_t bytes)
      : Buffer(memory->data(), bytes), memory_(std::move(memory)) {}

  void LeavePool(std::shared_ptr<BufferPool> pool) {
    pool_ = std::move(pool);
    Reuse();
  }
  // For the pool alone: a buffer that lies in it has no references.
  void Delete() { delete this; }

 private:
  ~PooledBuffer() override = default;
  void OnLastUnref() override {
    // The pool may die with this reference, so it must not be a member any more by then.
    const std::shared_ptr<BufferPool> pool = std::move(pool_);
    pool->Return(this);
  }

  BufferRef memory_;
  std::shared_ptr<BufferPool> pool_;
};

std::shared_ptr<BufferPool> BufferPool::Create(Device& device,
                                               std::shared_ptr<MemoryCounters> counters) {
  return std::shared_ptr<BufferPool>(new BufferPool(device, std::move(counters)));
}

BufferPool::BufferPool(Device& device, std::shared_ptr<MemoryCounters> counters)
    : device_(device), counters_(std::move(counters)) {
  free_.reserve(kMaxFree + 1);
}

BufferPool::~BufferPool() {
  // Buffers in use hold the pool, so only free ones are left.
  for (PooledBuffer* buffer : free_) {
    counters_->output_bytes -= static_cast<int64_t>(buffer->size());
    buffer->Delete();
  }
}

size_t BufferPool::ClassBytes(size_t bytes) {
  constexpr size_t kSmallest = 1024;
  if (bytes <= kSmallest) return kSmallest;
  // Eight classes to a power of two, so that the step is one as well.
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) & ~(step - 1);
}

absl::StatusOr<BufferRef> BufferPool::Acquire(size_t bytes) {
  const size_t wanted = ClassBytes(bytes);
  PooledBuffer* buffer = nullptr;
  {
    absl::MutexLock lock(&mutex_);
    // The most recently returned one is the likeliest to be in a cache.
    auto it = std::find_if(free_.rbegin(), free_.rend(),
                           [&](const PooledBuffer* b) { return b->size() == wanted; });
    if (it != free_.rend()) {
      buffer = *it;
      free_.erase(std::next(it).base());
      free_bytes_ -= wanted;
    }
    used_bytes_ += wanted;
    if (++window_count_ == kWindow) {
      window_count_ = 0;
      last_window_peak_ = window_peak_;
      window_peak_ = 0;
    }
    window_peak_ = std::max(window_peak_, used_bytes_);
  }
  if (buffer == nullptr) {
    absl::StatusOr<BufferRef> memory = device_.AllocateStaging(wanted);
    if (!memory.ok()) {
      absl::MutexLock lock(&mutex_);
      used_bytes_ -= wanted;
      return memory.status();
    }
    buffer = new PooledBuffer(*std::move(memory), wanted);
    counters_->output_bytes += static_cast<int64_t>(wanted);
  }
  buffer->LeavePool(shared_from_this());
  return BufferRef::Adopt(buffer);
}

void BufferPool::Return(PooledBuffer* buffer) {
  // Freed outside the lock: giving large blocks back to the system takes time.
  PooledBuffer* evicted[kMaxFree + 1];
  size_t num_evicted = 0;
  {
    absl::MutexLock lock(&mutex_);
    free_.push_back(buffer);
    free_bytes_ += buffer->size();
    used_bytes_ -= buffer->size();
    const size_t keep = std::max({kKeepBytes, window_peak_, last_window_peak_});
    while (free_.size() > kMaxFree || free_bytes_ > keep) {
      evicted[num_evicted++] = free_.front();
      free_bytes_ -= free_.front()->size();
      free_.erase(free_.begin());
    }
  }
  for (size_t i = 0; i < num_evicted; ++i) {
    counters_->output_bytes -= static_cast<int64_t>(evicted[i]->size());
    evicted[i]->Delete();
  }
}

size_t BufferPool::free_bytes() const {
  absl::MutexLock lock(&mutex_);
  return free_bytes_;
}

}  // namespace inferd::engine
