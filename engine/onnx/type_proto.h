// TypeProto -> ValueType.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ir/value_type.h"

namespace onnx {
class TypeProto;
}

namespace inferd::engine {

// Tensors, sequences, optionals and maps. A dimension of -1 is unknown, as some exporters write
// it. INVALID_ARGUMENT for any other negative or an absurd dimension, an unknown element type code
// or a kind of type that is not in the list. A type that is not set at all is an undefined tensor.
absl::StatusOr<ValueType> TypeFromProto(const onnx::TypeProto& proto);

}  // namespace inferd::engine
