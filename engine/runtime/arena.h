// The memory a context's activations and workspaces live in.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "engine/device/device.h"
#include "engine/runtime/memory_counters.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// One block that grows to what the largest plan needs, and shrinks once kPatience runs in a row
// have needed less than a quarter of it: one huge request does not hold its memory for ever. One
// thread at a time.
class Arena {
 public:
  static constexpr int kPatience = 64;

  Arena(Device& device, std::shared_ptr<MemoryCounters> counters);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // An address with at least `bytes` behind it; never null. What was there is lost.
  // RESOURCE_EXHAUSTED when memory is short; the arena is empty then.
  absl::StatusOr<void*> Reserve(size_t bytes);
  // Call after every run.
  void EndRun();

  size_t bytes() const { return bytes_; }

 private:
  void Release();

  Device& device_;
  const std::shared_ptr<MemoryCounters> counters_;
  BufferRef block_;
  size_t bytes_ = 0;
  size_t run_need_ = 0;  // of the run that is on
  int modest_runs_ = 0;
};

}  // namespace inferd::engine
