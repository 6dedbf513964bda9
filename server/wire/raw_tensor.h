// Tensors in the protocol's raw form: little-endian, row-major, dense; a BYTES element is its
// length as uint32 followed by that many bytes.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/tensor/tensor.h"
#include "server/wire/bytes_view.h"
#include "server/wire/infer_message.h"

namespace inferd::server {

// The shape of a client: at most kMaxRank dimensions, none negative, a count and a size in bytes
// that fit int64. Errors name `input`.
absl::StatusOr<engine::Shape> CheckedShape(absl::string_view input, absl::Span<const int64_t> dims);

// Makes `input` (name, tensor.type and tensor.shape filled in) view the raw bytes, which stay where
// they are: as tensor.data if they lie together, aligned to the element size, else as
// input->pieces. Only BYTES are copied: their elements become strings, in request->owned. The
// caller keeps the memory behind `raw`, but not its table of slices, alive through
// request->payload. INVALID_ARGUMENT when size and shape do not agree, a BYTES element reaches past
// the end, or a BOOL is neither 0 nor 1.
absl::Status BindRawTensor(BytesView raw, InferRequest* request, InferInput* input);

// An uninitialized tensor for `input`, owned by the request: what text and varints decode into.
absl::Status AllocateTensor(InferRequest* request, InferInput* input);

// Size of a tensor in the raw form.
int64_t RawTensorBytes(const engine::TensorView& tensor);
// Appends a BYTES tensor in the raw form. RESOURCE_EXHAUSTED for an element of 4 GiB or more.
absl::Status AppendBytesTensor(const engine::TensorView& tensor, std::string* out);

}  // namespace inferd::server
