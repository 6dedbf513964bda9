// Reads the JSON bodies of the REST API with simdjson, which stays behind this header.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/wire/infer_message.h"

namespace inferd::server {

// Bytes that must be readable beyond the end of every JSON text; their values do not matter.
inline constexpr size_t kJsonPadding = 64;

// One input of a JSON request whose data follows the JSON in binary form.
struct BinaryInput {
  size_t index = 0;  // into InferRequest::inputs
  int64_t bytes = 0;
};

// What a JSON infer request says beside InferRequest itself.
struct JsonInferExtras {
  std::vector<BinaryInput> binary_inputs;     // in the order of the blobs
  std::optional<bool> binary_output_default;  // parameter binary_data_output
};

// Keeps its scratch memory between calls; one thread at a time.
class JsonParser {
 public:
  JsonParser();
  ~JsonParser();

  // An infer request. Inputs with data in JSON are complete afterwards, those in
  // extras->binary_inputs have type and shape. The model's name must be set before, for messages.
  // INVALID_ARGUMENT names what is wrong and where; request->id is set as soon as it is known.
  absl::Status ParseInferRequest(absl::string_view json, InferRequest* request,
                                 JsonInferExtras* extras);
  // {"parameters": {...}} of a load or unload call; an empty text is no parameters.
  absl::StatusOr<Parameters> ParseRepositoryParameters(absl::string_view json);
  // {"ready": bool} of an index call; an empty text is false.
  absl::StatusOr<bool> ParseReadyFlag(absl::string_view json);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferd::server
