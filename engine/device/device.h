// The small interface all device calls go through: the CPU, CUDA and, in tests, a simulated
// asynchronous device implement it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/device/thread_pool.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// A point in a stream's work. Record and wait through Stream.
class Event {
 public:
  virtual ~Event() = default;
  // Blocks the calling host thread until the recorded work is done.
  virtual absl::Status Synchronize() = 0;
  // True when the recorded work is done.
  virtual bool Done() const = 0;
};

// An ordered queue of work. Work of different streams may overlap; events order it. One host
// thread at a time submits to a stream.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual absl::Status Record(Event& event) = 0;
  // Later work of this stream waits for `event`; the host does not.
  virtual absl::Status Wait(Event& event) = 0;
  // Blocks the host until everything submitted is done.
  virtual absl::Status Synchronize() = 0;
  virtual absl::Status CopyToDevice(void* device, const void* host, size_t bytes) = 0;
  virtual absl::Status CopyToHost(void* host, const void* device, size_t bytes) = 0;
  // Host threads kernels of this stream may use: on the CPU the intra-op threads of the context,
  // elsewhere just the caller.
  virtual ThreadPool& threads() = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual absl::string_view name() const = 0;  // "cpu", "cuda:0"
  virtual bool is_host() const = 0;            // true: host pointers are device pointers
  virtual absl::StatusOr<std::unique_ptr<Stream>> NewStream(int threads) = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> NewEvent() = 0;
  // Device memory; RESOURCE_EXHAUSTED when there is none.
  virtual absl::StatusOr<BufferRef> Allocate(size_t bytes) = 0;
  // Host memory fit for asynchronous copies (pinned on a GPU).
  virtual absl::StatusOr<BufferRef> AllocateStaging(size_t bytes) = 0;
};

// The host: its streams run work in the submitting thread, helped by their own thread pool.
Device& CpuDevice();

}  // namespace inferd::engine
