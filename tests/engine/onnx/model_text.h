// Builds models for tests from protobuf text.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/onnx/import.h"

namespace inferd::engine {

// `input { name: "x" ... }` of a tensor; dims such as "2,N,?" or "" for a scalar, "..." for an
// unknown rank. `code` is a TensorProto.DataType.
std::string InputText(absl::string_view name, int code, absl::string_view dims);
// A float input.
std::string FloatInput(absl::string_view name, absl::string_view dims);
std::string OutputText(absl::string_view name);
// `node { ... }`; inputs and outputs are comma-separated names, "_" an absent one.
std::string NodeText(absl::string_view op, absl::string_view inputs, absl::string_view outputs,
                     absl::string_view more = "");
// `initializer { ... }` of int64 or float values.
std::string IntsText(absl::string_view name, const std::vector<int64_t>& values);
std::string FloatsText(absl::string_view name, absl::string_view dims,
                       const std::vector<float>& values);
// Attributes.
std::string IntAttribute(absl::string_view name, int64_t value);
std::string IntsAttribute(absl::string_view name, const std::vector<int64_t>& values);
std::string FloatAttribute(absl::string_view name, float value);
std::string StringAttribute(absl::string_view name, absl::string_view value);

// A whole model around the text of a graph, with ai.onnx at `opset`.
std::string ModelText(int opset, absl::string_view graph, absl::string_view more = "");

// The wire form of a ModelProto in text form; ends the test where the text is wrong.
std::string ModelBytes(absl::string_view text);
absl::StatusOr<ImportedModel> ImportText(absl::string_view text);
absl::StatusOr<ImportedModel> ImportText(absl::string_view text, const OpRegistry& registry);

// Names of the operators in order: "Flatten Softmax Shape Reshape".
std::string OpsOf(const Graph& graph);

}  // namespace inferd::engine
