// The operators a model uses, without building it. Internal to the importer.
#pragma once

#include <vector>

#include "engine/onnx/function_library.h"
#include "engine/onnx/import.h"

namespace inferd::engine {

std::vector<OperatorUse> ListOperatorsOf(const onnx::ModelProto& model, const OpsetImports& opsets,
                                         const FunctionLibrary& functions,
                                         const OpRegistry& registry);

}  // namespace inferd::engine
