// The order in which the nodes of a GraphProto can run.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onnx {
class NodeProto;
}
namespace google::protobuf {
template <typename T>
class RepeatedPtrField;
}

namespace inferd::engine {

// Indices of the nodes so that each comes after the producers of what it reads, subgraphs
// included. Nodes that are already in order keep it. Of Constant nodes with
// one output name the last counts. INVALID_ARGUMENT names any other value that two nodes produce,
// or the nodes of a cycle.
absl::StatusOr<std::vector<int>> OrderNodes(
    const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes);

// Adds the names a node reads, its subgraphs' free names included.
void CollectReads(const onnx::NodeProto& node, absl::flat_hash_set<absl::string_view>& reads);

// How messages name a node before it is part of a graph: `conv1 (Conv)`, or for one without a
// name `MatMul#17 (output "t5")`, with its position in the file.
std::string DisplayName(const onnx::NodeProto& node, int index);

}  // namespace inferd::engine
