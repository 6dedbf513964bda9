// inference.InferTensorContents: elements as repeated protobuf fields.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/wire/bytes_view.h"
#include "server/wire/infer_message.h"

namespace inferd::server {

// Decodes into a tensor of input->tensor's type and shape owned by the request. `contents` are
// bodies of the message, to be read one after the other. INVALID_ARGUMENT when the elements stand
// in another field than the datatype asks for, their number differs from the shape's or a value
// does not fit the datatype.
absl::Status BindTypedContents(absl::Span<const BytesView> contents, InferRequest* request,
                               InferInput* input);

}  // namespace inferd::server
