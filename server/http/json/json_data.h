// The `data` of a tensor in JSON: read straight into the tensor, without values in between.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/wire/infer_message.h"

namespace inferd::server {

// Deepest nesting accepted in any JSON document.
inline constexpr int kMaxJsonDepth = 100;

// Decodes `json`, the text of one value, into a tensor of input->tensor's type and shape owned by
// the request. The value is a flat array of all elements in row-major order, or arrays nested as
// the shape says. Numbers become the nearest value of the datatype (FP16 and BF16 by way of
// double); NaN, Infinity and -Infinity are accepted for floating-point types; BYTES are strings;
// BOOL is true/false or 1/0. INVALID_ARGUMENT names the input, the element and what was expected.
absl::Status BindJsonData(absl::string_view json, InferRequest* request, InferInput* input);

}  // namespace inferd::server
