// The memory a request body is read into, once, and stays in until its tensors have been used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/tensor.h"

namespace inferd::server {

// Thread-compatible. Readable for kJsonPadding bytes beyond the end.
class BodyBuffer {
 public:
  BodyBuffer() = default;  // empty

  // Uninitialized. The byte at `aligned_offset` is aligned for tensors: where binary data begins
  // after the JSON part. RESOURCE_EXHAUSTED when there is no memory.
  static absl::StatusOr<BodyBuffer> Allocate(size_t size, size_t aligned_offset);

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  absl::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  // Cuts the end off; never grows.
  void Truncate(size_t size) { size_ = size; }
  // What keeps data() alive.
  std::shared_ptr<const void> owner() const;

 private:
  engine::BufferRef buffer_;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace inferd::server
