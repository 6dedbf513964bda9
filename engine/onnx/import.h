// ONNX ModelProto -> Graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ir/graph.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// A graph input that has an initializer: a client may leave it out.
struct OptionalInput {
  std::string name;
  ValueType type;    // as the input declares it
  int position = 0;  // among all graph inputs
};

struct ImportedModel {
  std::unique_ptr<Graph> graph;
  // Constants of the graph that could be inputs: see ImportOptions::fed. Files before IR version 4
  // have to list every initializer among the inputs, so theirs are not here.
  std::vector<OptionalInput> optional_inputs;
  // What a user should know although the model runs, one sentence each.
  std::vector<std::string> notes;
  std::string producer;  // "pytorch 2.1.0"
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;  // imported domains in use
};

// One operator the model uses, for `inferplan check`.
struct OperatorUse {
  std::string domain, op;
  int64_t opset = 0;
  int count = 0;  // nodes of the file; those of a function once, however often it is called
  bool supported = false;
  std::string gap;  // why not, when not supported
  // Known once import got as far as such a node.
  std::vector<std::string> types;        // of the inputs' elements, each combination once
  std::vector<std::string> imported_as;  // qualified names of the operators that compute it
};
// A function of the model.
struct FunctionUse {
  std::string name;  // "pkg.nn::Block"
  int calls = 0;     // inlined, those from inside other functions included
  int nodes = 0;     // of the body
};
// What an import learns about a model, whether or not the model can run.
struct ModelSurvey {
  std::vector<OperatorUse> operators;
  std::vector<FunctionUse> functions;
  std::vector<std::string> optional_inputs;  // names
  std::vector<std::string> notes;
  std::string producer;
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;
};

struct ImportOptions {
  // Filled as far as possible, whether or not the import succeeds; may be null.
  ModelSurvey* survey = nullptr;
  // Names of initializers that are to be inputs of the graph, in place of constants.
  std::vector<std::string> fed = {};
};

// Reads, normalizes every operator to its internal form, inlines local functions, infers shapes
// and verifies. Errors: NOT_FOUND or INVALID_ARGUMENT for the file, UNIMPLEMENTED listing every
// gap at once (operator, domain, opset, node, element types, what is supported).
absl::StatusOr<ImportedModel> ImportOnnxFile(const std::string& path, const OpRegistry& registry,
                                             const ImportOptions& options = {});
absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes, const std::string& base_dir,
                                              const OpRegistry& registry,
                                              const ImportOptions& options = {});

// Lists the operators of a model without building it; works for models that cannot run.
absl::StatusOr<std::vector<OperatorUse>> ListOperators(const std::string& path,
                                                       const OpRegistry& registry);

}  // namespace inferd::engine
