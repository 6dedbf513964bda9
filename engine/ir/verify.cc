#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/ir/graph.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Violation(const Node& node, absl::string_view what) {
  return absl::InternalError(absl::StrCat("graph verifier: node ", node.display_name(), " ", what));
}

absl::Status VerifyBodies(const Node& node) {
  for (const std::shared_ptr<Graph>& body : node.bodies()) {
    if (!body->captures().empty()) {
      return Violation(node, absl::StrCat("has a body that captures \"",
                                          body->captures().front()->name(), "\""));
    }
    RETURN_IF_ERROR(Verify(*body));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Verify(const Graph& graph) {
  absl::flat_hash_set<const Value*> available(graph.inputs().begin(), graph.inputs().end());
  for (const auto& node : graph.nodes()) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Value* input = node->input(i);
      if (input == nullptr) continue;
      const Value::Use use{node.get(), i};
      if (std::count(input->uses().begin(), input->uses().end(), use) != 1) {
        return Violation(*node,
                         absl::StrCat("is not recorded once as a user of \"", input->name(), "\""));
      }
      if (input->is_constant()) continue;
      if (!available.contains(input)) {
        return Violation(
            *node, absl::StrCat("uses \"", input->name(), "\", which is not computed before it"));
      }
    }
    if (absl::Status status = CheckNode(*node); !status.ok()) {
      return absl::InternalError(absl::StrCat("graph verifier: ", status.message()));
    }
    RETURN_IF_ERROR(VerifyBodies(*node));
    for (int i = 0; i < node->num_outputs(); ++i) {
      const Value* output = node->output(i);
      if (output == nullptr) continue;
      if (output->producer() != node.get() || output->producer_output() != i) {
        return Violation(
            *node, absl::StrCat("is not recorded as the producer of \"", output->name(), "\""));
      }
      if (!available.insert(output).second) {
        return Violation(*node, absl::StrCat("computes \"", output->name(), "\" a second time"));
      }
    }
  }
  for (const Value* output : graph.outputs()) {
    if (!output->is_constant() && !available.contains(output)) {
      return absl::InternalError(
          absl::StrCat("graph verifier: output \"", output->name(), "\" is never computed"));
    }
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
