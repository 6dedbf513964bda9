// What one import shares: where operators come from and where findings go.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "engine/onnx/external_data.h"
#include "engine/onnx/function_library.h"
#include "engine/onnx/gap_report.h"
#include "engine/onnx/import.h"
#include "engine/onnx/tensor_proto.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// What import finds of one operator: (canonical domain, operator, opset).
using OperatorKey = std::tuple<std::string, std::string, int64_t>;
struct OperatorFindings {
  absl::btree_set<std::string> types;        // combinations of the inputs' element types
  absl::btree_set<std::string> imported_as;  // qualified names
  absl::btree_set<std::string> gaps;
};
struct FunctionFindings {
  int calls = 0;
  int nodes = 0;
};

struct ImportSession {
  ImportSession(const OpRegistry& op_registry, std::string directory);
  ~ImportSession();

  // Each sentence is kept once.
  void AddNote(std::string note);

  const OpRegistry& registry;
  ExternalDataReader external;
  FunctionLibrary functions;
  OpsetImports opsets;
  absl::btree_map<std::string, int64_t> used_opsets;  // canonical domain -> version
  GapReport gaps;
  // Nodes whose bodies are being imported, the outermost first.
  std::vector<std::string> enclosing_nodes;
  // The first failure of a shape function. Gaps are looked for past it: they explain more.
  absl::Status inference_error;
  // Not a B-tree: references must hold while bodies are imported.
  std::map<OperatorKey, OperatorFindings> operators;
  absl::btree_map<std::string, FunctionFindings> inlined;  // by display name
  std::vector<std::string> notes;
  std::vector<OptionalInput> optional_inputs;
  // Initializers that are inputs of this import.
  absl::flat_hash_set<std::string> fed;
  // Files before IR version 4 list every initializer among the inputs; that says nothing.
  bool initializers_are_listed = false;
  int listed_initializers = 0;  // such, which are constants
  int repeated_constants = 0;   // Constant nodes overridden by a later one of the same name
  int64_t sparse_budget = kDenseBytesBudget;
  // Nodes that inlining may still add: calls nested in calls grow exponentially.
  int64_t inlined_nodes_left = 500000;
  // A function body is imported once per call, its tensors once.
  absl::flat_hash_map<const onnx::TensorProto*, Tensor> function_tensors;
};

}  // namespace inferd::engine
