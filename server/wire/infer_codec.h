// inference.ModelInferRequest and ModelInferResponse, read and written by hand so that tensor
// bytes are never copied through a generated message. Knows protobuf's encoding
// (https://protobuf.dev/programming-guides/encoding/) and nothing of gRPC.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/tensor.h"
#include "server/wire/bytes_view.h"
#include "server/wire/infer_message.h"

namespace inferd::server {

// Parses `message` into `request`. Tensors in the raw form are not copied, BYTES aside: they view
// the message (see BindRawTensor), and `payload` is what keeps it alive. INVALID_ARGUMENT for
// malformed bytes and for a message that contradicts itself (sizes, shapes, datatypes, both or
// neither data form). On error model_name and id hold what had been read, for messages and logs.
absl::Status ParseInferRequest(BytesView message, std::shared_ptr<const void> payload,
                               InferRequest* request);

// A serialized response: framing bytes with references to tensor memory between them.
struct EncodedInferResponse {
  // framing[framing_begin, framing_end) is followed on the wire by `tensor_bytes`.
  struct Part {
    size_t framing_begin = 0;
    size_t framing_end = 0;
    ByteSpan tensor_bytes;     // may be empty
    engine::BufferRef buffer;  // keeps tensor_bytes alive
  };
  std::string framing;
  std::vector<Part> parts;
  int64_t total_bytes = 0;
};

// Tensors of up to this size are copied into the framing: cheaper than a reference.
inline constexpr int64_t kInlineTensorBytes = 1024;

// Writes `response` with its outputs in the raw form. UNIMPLEMENTED for an output whose type the
// protocol has no name for.
absl::StatusOr<EncodedInferResponse> EncodeInferResponse(const InferResponse& response);

// inference.ModelStreamInferResponse: what goes before the bytes of a response, and an error of
// the request `id`.
std::string StreamResponsePrefix(int64_t response_bytes);
std::string EncodeStreamError(absl::string_view error, absl::string_view id);

}  // namespace inferd::server
