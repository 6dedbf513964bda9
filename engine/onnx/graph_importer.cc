#include "engine/onnx/graph_importer.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/onnx/node_order.h"
#include "engine/onnx/type_proto.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {

absl::StatusOr<std::unique_ptr<Graph>> GraphImporter::ImportMainGraph(onnx::GraphProto& proto,
                                                                      const Frame& frame) {
  if (proto.output_size() == 0) return absl::InvalidArgumentError("the graph has no outputs");
  auto graph = std::make_unique<Graph>(proto.name());
  Scope scope(*graph, nullptr, frame);
  std::vector<Initializer> initializers;
  initializers.reserve(proto.initializer_size());
  for (auto& initializer : *proto.mutable_initializer()) {
    std::string name = initializer.name();
    ASSIGN_OR_RETURN(Tensor tensor, TakeTensorFromProto(initializer, &session_.external));
    initializers.push_back({std::move(name), std::move(tensor)});
  }
  RETURN_IF_ERROR(ImportSparseInitializers(proto, &initializers));
  RETURN_IF_ERROR(AddInitializers(std::move(initializers), /*is_main=*/true, scope));
  RETURN_IF_ERROR(AddInputs(proto, /*is_body=*/false, InputShapes::kBelieved, scope));
  RETURN_IF_ERROR(ImportBody(proto, scope));
  return graph;
}

absl::StatusOr<std::shared_ptr<Graph>> GraphImporter::ImportSubgraph(const onnx::GraphProto& proto,
                                                                     InputShapes shapes,
                                                                     Scope& outer) {
  auto graph = std::make_shared<Graph>(proto.name());
  Scope scope(*graph, &outer, outer.frame());
  RETURN_IF_ERROR(AddInputs(proto, /*is_body=*/true, shapes, scope));
  std::vector<Initializer> initializers;
  for (const auto& initializer : proto.initializer()) {
    // A body's inputs are given by position on every run, so a default has no use.
    if (scope.Defines(initializer.name())) continue;
    ASSIGN_OR_RETURN(Tensor tensor, ImportTensor(initializer, scope));
    initializers.push_back({initializer.name(), std::move(tensor)});
  }
  RETURN_IF_ERROR(ImportSparseInitializers(proto, &initializers));
  RETURN_IF_ERROR(AddInitializers(std::move(initializers), /*is_main=*/false, scope));
  RETURN_IF_ERROR(ImportBody(proto, scope));
  return graph;
}

absl::Status GraphImporter::ImportSparseInitializers(const onnx::GraphProto& proto,
                                                     std::vector<Initializer>* initializers) {
  for (const auto& sparse : proto.sparse_initializer()) {
    ASSIGN_OR_RETURN(Tensor dense,
                     DenseFromSparseProto(sparse, &session_.external, &session_.sparse_budget));
    initializers->push_back({sparse.values().name(), std::move(dense)});
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::AddInitializers(std::vector<Initializer> initializers, bool is_main,
                                            Scope& scope) {
  // Of several with one name the last counts, as other runtimes read it.
  absl::flat_hash_map<std::string, size_t> last;
  for (size_t i = 0; i < initializers.size(); ++i) {
    const std::string& name = initializers[i].name;
    if (name.empty()) return absl::InvalidArgumentError("an initializer has no name");
    if (!last.insert_or_assign(name, i).second) {
      session_.AddNote(absl::StrCat("Initializer \"", name,
                                    "\" is defined more than once; the last one counts."));
    }
  }
  for (size_t i = 0; i < initializers.size(); ++i) {
    Initializer& initializer = initializers[i];
    if (last.at(initializer.name) != i) continue;
    // Of the model's own graph alone: a body's names are another matter.
    if (is_main && session_.fed.contains(initializer.name)) continue;
    Value* value = scope.graph().AddConstant(absl::StrCat(scope.frame().prefix, initializer.name),
                                             std::move(initializer.tensor));
    scope.Bind(initializer.name, value);
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::AddInputs(const onnx::GraphProto& proto, bool is_body,
                                      InputShapes shapes, Scope& scope) {
  absl::flat_hash_set<absl::string_view> seen;
  for (const auto& input : proto.input()) {
    if (input.name().empty()) return absl::InvalidArgumentError("a graph input has no name");
    if (!seen.insert(input.name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph input \"", input.name(), "\" is defined twice"));
    }
    absl::StatusOr<ValueType> type = TypeFromProto(input.type());
    if (!type.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph input \"", input.name(), "\": ", type.status().message()));
    }
    if (!is_body && scope.Defines(input.name())) {
      AddOptionalInput(input.name(), *std::move(type), static_cast<int>(seen.size()) - 1, scope);
      continue;
    }
    if (!is_body && type->is_tensor() && type->element == ElementType::kUndefined) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph input \"", input.name(), "\" has no element type"));
    }
    if (shapes == InputShapes::kRankOnly && type->is_tensor() && type->shape.has_rank()) {
      type->shape = SymbolicShape::OfRank(type->shape.rank());
    }
    scope.Bind(
        input.name(),
        scope.graph().AddInput(absl::StrCat(scope.frame().prefix, input.name()), *std::move(type)));
  }
  return absl::OkStatus();
}

void GraphImporter::AddOptionalInput(const std::string& name, ValueType type, int position,
                                     Scope& scope) {
  if (session_.initializers_are_listed) {
    ++session_.listed_initializers;
    return;
  }
  Value* value = nullptr;
  scope.Find(name, &value);
  // Writers that take the declaration for a formality leave it empty.
  if (!type.is_tensor() || type.element == ElementType::kUndefined) type = value->type();
  session_.optional_inputs.push_back({.name = name, .type = std::move(type), .position = position});
}

absl::Status GraphImporter::ImportBody(const onnx::GraphProto& proto, Scope& scope) {
  for (const auto& output : proto.output()) scope.used_names.insert(output.name());
  RETURN_IF_ERROR(ImportNodes(proto.node(), scope));
  for (const auto& output : proto.output()) {
    Value* value = nullptr;
    if (output.name().empty() || !scope.Find(output.name(), &value) || value == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("graph output \"", output.name(),
                                                     "\" is produced by no node, initializer or "
                                                     "input"));
    }
    scope.graph().AddOutput(value, output.name());
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportNodes(
    const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, Scope& scope) {
  ASSIGN_OR_RETURN(const std::vector<int> order, OrderNodes(nodes));
  for (const auto& node : nodes) CollectReads(node, scope.used_names);
  for (int i : order) {
    if (absl::Status status = ImportNode(nodes.Get(i), i, scope); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
