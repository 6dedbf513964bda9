// gRPC's byte buffers and the wire codec's views of them.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <vector>

#include "server/wire/bytes_view.h"
#include "server/wire/infer_codec.h"

namespace inferd::server {

// A received message, kept as the slices it came in.
class ReceivedMessage {
 public:
  explicit ReceivedMessage(const grpc::ByteBuffer& bytes) {
    if (!bytes.Valid()) return;
    (void)bytes.Dump(&slices_);  // fails only for an invalid buffer
    spans_.reserve(slices_.size());
    for (const grpc::Slice& slice : slices_) spans_.emplace_back(slice.begin(), slice.size());
  }
  // Short slices hold their bytes in themselves, so the object stays where it is.
  ReceivedMessage(const ReceivedMessage&) = delete;
  ReceivedMessage& operator=(const ReceivedMessage&) = delete;

  BytesView view() const { return BytesView(spans_); }

 private:
  std::vector<grpc::Slice> slices_;
  std::vector<ByteSpan> spans_;
};

// `prefix` followed by the response. Tensor memory is referenced, not copied.
inline grpc::ByteBuffer ToByteBuffer(const EncodedInferResponse& response,
                                     const std::string& prefix = "") {
  std::vector<grpc::Slice> slices;
  slices.reserve(2 * response.parts.size() + 1);
  if (!prefix.empty()) slices.emplace_back(prefix);
  for (const EncodedInferResponse::Part& part : response.parts) {
    if (part.framing_end > part.framing_begin) {
      slices.emplace_back(response.framing.data() + part.framing_begin,
                          part.framing_end - part.framing_begin);
    }
    if (part.tensor_bytes.empty()) continue;
    engine::Buffer* buffer = part.buffer.get();
    buffer->Ref();
    slices.emplace_back(
        const_cast<uint8_t*>(part.tensor_bytes.data()), part.tensor_bytes.size(),
        [](void* b) { static_cast<engine::Buffer*>(b)->Unref(); }, buffer);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace inferd::server
