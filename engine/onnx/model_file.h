// Bytes -> ModelProto, with errors that say what the file is when it is no model.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnx {
class ModelProto;
}

namespace inferd::engine {

// `source` is how errors name the input: a path, or "model bytes".
// Errors: NOT_FOUND where there is no such file, PERMISSION_DENIED, INVALID_ARGUMENT for anything
// that is not an ONNX model.
absl::StatusOr<std::unique_ptr<onnx::ModelProto>> ReadModelFile(const std::string& path);
absl::StatusOr<std::unique_ptr<onnx::ModelProto>> ParseModelBytes(absl::string_view bytes,
                                                                  absl::string_view source);

// "producer 1.2", from the model's producer fields.
std::string ProducerOf(const onnx::ModelProto& model);

// Directory part of a path: "." where it has none.
std::string DirectoryOf(const std::string& path);

}  // namespace inferd::engine
