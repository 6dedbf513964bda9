#include "engine/runtime/arena.h"

#include <algorithm>
#include <utility>

#include "engine/status_macros.h"

namespace inferd::engine {

Arena::Arena(Device& device, std::shared_ptr<MemoryCounters> counters)
    : device_(device), counters_(std::move(counters)) {}

Arena::~Arena() { Release(); }

void Arena::Release() {
  counters_->arena_bytes -= static_cast<int64_t>(bytes_);
  block_ = BufferRef();
  bytes_ = 0;
}

absl::StatusOr<void*> Arena::Reserve(size_t bytes) {
  // Zero-size tensors need an address too: null means "absent" to a kernel.
  bytes = std::max(bytes, kBufferAlignment);
  run_need_ = std::max(run_need_, bytes);
  if (bytes > bytes_) {
    Release();
    ASSIGN_OR_RETURN(block_, device_.Allocate(bytes));
    bytes_ = bytes;
    counters_->arena_bytes += static_cast<int64_t>(bytes_);
  }
  return block_->data();
}

void Arena::EndRun() {
  if (run_need_ >= bytes_ / 4) {
    modest_runs_ = 0;
  } else if (++modest_runs_ >= kPatience) {
    Release();
    modest_runs_ = 0;
  }
  run_need_ = 0;
}

}  // namespace inferd::engine
