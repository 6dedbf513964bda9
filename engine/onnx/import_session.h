// What one import shares: where operators come from and where findings go.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "engine/onnx/external_data.h"
#include "engine/onnx/function_library.h"
#include "engine/onnx/gap_report.h"
#include "engine/onnx/tensor_proto.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

struct ImportSession {
  ImportSession(const OpRegistry& operators, std::string directory);
  ~ImportSession();

  // Each sentence is kept once.
  void AddNote(std::string note);

  const OpRegistry& registry;
  ExternalDataReader external;
  FunctionLibrary functions;
  OpsetImports opsets;
  absl::btree_map<std::string, int64_t> used_opsets;  // canonical domain -> version
  GapReport gaps;
  // The first failure of a shape function. Gaps are looked for past it: they explain more.
  absl::Status inference_error;
  std::vector<std::string> notes;
  std::vector<std::string> overridable_initializers;
  int repeated_constants = 0;  // Constant nodes overridden by a later one of the same name
  int64_t sparse_budget = kDenseBytesBudget;
  // Nodes that inlining may still add: calls nested in calls grow exponentially.
  int64_t inlined_nodes_left = 500000;
  // A function body is imported once per call, its tensors once.
  absl::flat_hash_map<const onnx::TensorProto*, Tensor> function_tensors;
};

}  // namespace inferd::engine
