// The functions a model defines for itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class ModelProto;
class NodeProto;
class OperatorSetIdProto;
}  // namespace onnx
namespace google::protobuf {
template <typename T>
class RepeatedPtrField;
}

namespace inferd::engine {

// Canonical domain -> version.
using OpsetImports = absl::flat_hash_map<std::string, int64_t>;

// INVALID_ARGUMENT for a version below 1. A domain imported twice counts with its higher version.
absl::Status ReadOpsetImports(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
    OpsetImports* opsets);

struct Function {
  const onnx::FunctionProto* proto = nullptr;
  std::string display_name;  // "pkg.nn::Block"
  OpsetImports opsets;       // the model's, overridden by the function's own
  std::vector<onnx::AttributeProto> defaults;
};

class FunctionLibrary {
 public:
  ~FunctionLibrary();
  // Indexes the functions of `model`, which must outlive the library. INVALID_ARGUMENT for two
  // functions with the same domain, name and overload.
  absl::Status Load(const onnx::ModelProto& model, const OpsetImports& model_opsets);
  // The function a node calls; null where it is an operator. A function of the model takes
  // precedence over an operator of the same name: the file says what it means.
  const Function* Find(const onnx::NodeProto& node) const;

 private:
  absl::flat_hash_map<std::string, Function> functions_;
};

}  // namespace inferd::engine
