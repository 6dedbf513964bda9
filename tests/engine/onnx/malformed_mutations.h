// Changes to a model, for malformed_mutations.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace onnx {
class ModelProto;
}

namespace inferd::engine {

struct Change {
  bool may_run = false;
  std::string named;
};
// What the change is about; nothing where it does not apply to the model.
using Mutate = std::optional<Change> (*)(onnx::ModelProto&);
struct Mutation {
  const char* name;
  Mutate mutate;
};

inline constexpr bool kMayRun = true;
inline constexpr bool kMustFail = false;
using Result = std::optional<Change>;

// Of nodes, names and attributes.
std::vector<Mutation> NodeMutations();
// Of initializers, graph inputs and outputs, and of the model around the graph.
std::vector<Mutation> DataMutations();
// Of bodies and functions.
std::vector<Mutation> BodyMutations();

}  // namespace inferd::engine
