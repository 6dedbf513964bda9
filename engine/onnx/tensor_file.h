// TensorProto files (.pb), the form of ONNX's backend test data.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// INVALID_ARGUMENT naming the file for data that does not fit its type and shape.
absl::StatusOr<Tensor> ReadTensorFile(const std::string& path, std::string* name = nullptr);
absl::StatusOr<Tensor> ParseTensorProto(absl::string_view bytes, std::string* name = nullptr);
std::string SerializeTensorProto(const TensorView& tensor, absl::string_view name);

}  // namespace inferd::engine
