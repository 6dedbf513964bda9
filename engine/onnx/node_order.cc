#include "engine/onnx/node_order.h"

#include <functional>
#include <queue>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using NameSet = absl::flat_hash_set<absl::string_view>;

// Nodes of a cycle an error names before it counts the rest.
constexpr size_t kNamedNodes = 8;

// Names a subgraph uses and does not define.
void CollectFreeNames(const onnx::GraphProto& graph, NameSet& free) {
  NameSet used;
  for (const auto& node : graph.node()) CollectReads(node, used);
  for (const auto& output : graph.output()) used.insert(output.name());
  for (const auto& input : graph.input()) used.erase(input.name());
  for (const auto& initializer : graph.initializer()) used.erase(initializer.name());
  for (const auto& initializer : graph.sparse_initializer()) {
    used.erase(initializer.values().name());
  }
  for (const auto& node : graph.node()) {
    for (const std::string& name : node.output()) used.erase(name);
  }
  free.insert(used.begin(), used.end());
}

bool IsConstant(const onnx::NodeProto& node) { return node.op_type() == "Constant"; }

}  // namespace

void CollectReads(const onnx::NodeProto& node, NameSet& reads) {
  for (const std::string& name : node.input()) {
    if (!name.empty()) reads.insert(name);
  }
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) CollectFreeNames(attribute.g(), reads);
    for (const auto& graph : attribute.graphs()) CollectFreeNames(graph, reads);
  }
}

std::string DisplayName(const onnx::NodeProto& node, int index) {
  if (!node.name().empty()) return absl::StrCat(node.name(), " (", node.op_type(), ")");
  for (const std::string& output : node.output()) {
    if (!output.empty()) {
      return absl::StrCat(node.op_type(), "#", index, " (output \"", output, "\")");
    }
  }
  return absl::StrCat(node.op_type(), "#", index);
}

absl::StatusOr<std::vector<int>> OrderNodes(const Nodes& nodes) {
  absl::flat_hash_map<absl::string_view, int> producer;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes.Get(i).output()) {
      if (name.empty()) continue;
      if (auto [it, fresh] = producer.emplace(name, i); !fresh) {
        // Exporters repeat constants, and the last one of a name counts.
        if (IsConstant(nodes.Get(i)) && IsConstant(nodes.Get(it->second))) {
          it->second = i;
          continue;
        }
        return absl::InvalidArgumentError(
            absl::StrCat("value \"", name, "\" is produced twice: by ",
                         DisplayName(nodes.Get(it->second), it->second), " and by ",
                         DisplayName(nodes.Get(i), i)));
      }
    }
  }
  std::vector<std::vector<int>> readers(nodes.size());
  std::vector<int> waiting_for(nodes.size(), 0);
  for (int i = 0; i < nodes.size(); ++i) {
    NameSet reads;
    CollectReads(nodes.Get(i), reads);
    absl::flat_hash_set<int> from;
    for (absl::string_view name : reads) {
      if (auto it = producer.find(name); it != producer.end()) from.insert(it->second);
    }
    waiting_for[i] = static_cast<int>(from.size());
    for (int p : from) readers[p].push_back(i);
  }
  // The lowest ready index first: an ordered file stays as it is.
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (waiting_for[i] == 0) ready.push(i);
  }
  std::vector<int> order;
  order.reserve(nodes.size());
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int r : readers[i]) {
      if (--waiting_for[r] == 0) ready.push(r);
    }
  }
  if (static_cast<int>(order.size()) == nodes.size()) return order;
  std::vector<std::string> stuck;
  for (int i = 0; i < nodes.size() && stuck.size() < kNamedNodes; ++i) {
    if (waiting_for[i] > 0) stuck.push_back(DisplayName(nodes.Get(i), i));
  }
  return absl::InvalidArgumentError(absl::StrCat("the graph has a cycle; no order exists for ",
                                                 nodes.size() - order.size(),
                                                 " nodes: ", absl::StrJoin(stuck, ", ")));
}

}  // namespace inferd::engine
