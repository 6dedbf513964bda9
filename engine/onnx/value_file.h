// Files of ONNX's backend test data for values of any type: TensorProto, SequenceProto,
// OptionalProto and MapProto (onnx/onnx-data.proto).
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ir/value_type.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// The file does not say which message it holds: `type` does, in its kind. INVALID_ARGUMENT naming
// the file for data that is not such a value.
absl::StatusOr<Tensor> ReadValueFile(const std::string& path, const ValueType& type,
                                     std::string* name = nullptr);

// The form ReadValueFile reads.
std::string SerializeValue(const TensorView& value, absl::string_view name);

}  // namespace inferd::engine
