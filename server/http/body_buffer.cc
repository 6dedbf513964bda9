#include "server/http/body_buffer.h"

#include <cstring>

#include "engine/status_macros.h"
#include "server/http/json/json_parser.h"

namespace inferd::server {

absl::StatusOr<BodyBuffer> BodyBuffer::Allocate(size_t size, size_t aligned_offset) {
  const size_t lead = (engine::kBufferAlignment - aligned_offset % engine::kBufferAlignment) %
                      engine::kBufferAlignment;
  BodyBuffer body;
  ASSIGN_OR_RETURN(body.buffer_, engine::AllocateHostBuffer(lead + size + kJsonPadding));
  body.data_ = static_cast<uint8_t*>(body.buffer_->data()) + lead;
  body.size_ = size;
  std::memset(body.data_ + size, 0, kJsonPadding);
  return body;
}

std::shared_ptr<const void> BodyBuffer::owner() const {
  return std::make_shared<engine::BufferRef>(buffer_);
}

}  // namespace inferd::server
