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

struct ImportedModel {
  std::unique_ptr<Graph> graph;
  // Initializers that are also graph inputs: constants of the graph, and named here.
  std::vector<std::string> overridable_initializers;
  // What a user should know although the model runs, one sentence each.
  std::vector<std::string> notes;
  std::string producer;  // "pytorch 2.1.0"
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;  // imported domains in use
};

// Reads, normalizes every operator to its internal form, inlines local functions, infers shapes
// and verifies. Errors: NOT_FOUND or INVALID_ARGUMENT for the file, UNIMPLEMENTED listing every
// gap at once (operator, domain, opset, node, element types, what is supported).
absl::StatusOr<ImportedModel> ImportOnnxFile(const std::string& path, const OpRegistry& registry);
absl::StatusOr<ImportedModel> ImportOnnxBytes(absl::string_view bytes, const std::string& base_dir,
                                              const OpRegistry& registry);

// One operator the model uses, for `inferplan check`.
struct OperatorUse {
  std::string domain, op;
  int64_t opset = 0;
  int count = 0;
  bool supported = false;
  std::string gap;  // why not, when not supported
};
// Lists the operators of a model without building it; works for models that cannot run.
absl::StatusOr<std::vector<OperatorUse>> ListOperators(const std::string& path,
                                                       const OpRegistry& registry);

}  // namespace inferd::engine
