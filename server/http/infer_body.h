// The body of an infer request and of its answer over HTTP: JSON, or JSON followed by binary
// tensors (the protocol's binary tensor data extension).
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/server_context.h"
#include "server/http/http_message.h"
#include "server/http/json/json_parser.h"
#include "server/wire/infer_message.h"

namespace inferd::server {

// Which outputs the client wants in binary form.
struct OutputForms {
  bool binary_default = false;
  std::vector<bool> binary;  // by position in the answer; empty: the default for all
};

// Byte offset at which binary tensors begin in a body of `body_bytes` (nullopt where unknown yet),
// from Inference-Header-Content-Length: the length of the JSON part. INVALID_ARGUMENT for a value
// that is no such length.
absl::StatusOr<size_t> JsonPartLength(const std::string& header, std::optional<size_t> body_bytes);

// Decodes request.body into `out`, whose model_name and model_version are set. Binary tensors stay
// in the body. `context` is asked for the model only by a request without a JSON part, whose body
// is the one input of the model.
absl::Status DecodeInferBody(const HttpRequest& request, ServerContext& context, JsonParser& parser,
                             InferRequest* out, OutputForms* forms);

// The answer, its binary tensors referenced, not copied.
absl::StatusOr<HttpResponse> EncodeInferBody(const InferResponse& response,
                                             const OutputForms& forms);

}  // namespace inferd::server
