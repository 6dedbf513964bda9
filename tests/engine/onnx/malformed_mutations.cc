#include "tests/engine/onnx/malformed_mutations.h"

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "tests/engine/onnx/malformed_bases.h"
#include "tests/engine/onnx/malformed_cases.h"
#include "tests/engine/onnx/model_text.h"

namespace inferd::engine {
namespace {

using onnx::ModelProto;
using onnx::NodeProto;

// Gives every node of the main graph a name that errors can be searched for.
ModelProto Parse(const MalformedBase& base) {
  ModelProto model;
  model.ParseFromString(ModelBytes(base.text));
  int i = 0;
  for (NodeProto& node : *model.mutable_graph()->mutable_node()) {
    node.set_name(absl::StrCat("node_", i++, "_of_", node.op_type()));
  }
  return model;
}

}  // namespace

std::vector<MalformedCase> MutatedModels() {
  std::vector<Mutation> mutations = NodeMutations();
  for (const auto& more : {DataMutations(), BodyMutations()}) {
    mutations.insert(mutations.end(), more.begin(), more.end());
  }
  std::vector<MalformedCase> cases;
  for (const MalformedBase& base : MalformedBases()) {
    for (const Mutation& mutation : mutations) {
      ModelProto model = Parse(base);
      const std::optional<Change> change = mutation.mutate(model);
      if (!change.has_value()) continue;
      cases.push_back({.name = absl::StrCat(base.name, "_", mutation.name),
                       .bytes = model.SerializeAsString(),
                       .may_run = change->may_run,
                       .named = change->named});
    }
  }
  return cases;
}

}  // namespace inferd::engine
