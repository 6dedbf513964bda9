// AttributeProto -> AttributeValue, references to function attributes included.
#include "absl/strings/str_cat.h"
#include "engine/onnx/graph_importer.h"
#include "engine/onnx/proto_access.h"
#include "engine/onnx/type_proto.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {

absl::StatusOr<Tensor> GraphImporter::ImportTensor(const onnx::TensorProto& proto,
                                                   const Scope& scope) {
  if (scope.frame().function == nullptr) {
    return TensorFromProto(proto, &session_.external);
  }
  if (auto it = session_.function_tensors.find(&proto); it != session_.function_tensors.end()) {
    return it->second;
  }
  ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto, &session_.external));
  session_.function_tensors.emplace(&proto, tensor);
  return tensor;
}

absl::StatusOr<BoundAttribute> GraphImporter::ResolveAttribute(
    const onnx::AttributeProto& attribute, Scope& scope) {
  if (attribute.ref_attr_name().empty()) return BoundAttribute{&attribute, &scope};
  if (scope.frame().function == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute \"", attribute.name(), "\" refers to attribute \"",
                     attribute.ref_attr_name(), "\" of a function, but stands outside of one"));
  }
  const auto& bound = scope.frame().attributes;
  auto it = bound.find(attribute.ref_attr_name());
  return it == bound.end() ? BoundAttribute{} : it->second;
}

absl::StatusOr<AttributeValue> GraphImporter::ImportAttribute(const onnx::AttributeProto& attribute,
                                                              InputShapes shapes, Scope& scope) {
  using onnx::AttributeProto;
  switch (KindOf(attribute)) {
    case AttributeProto::FLOAT:
      return AttributeValue(attribute.f());
    case AttributeProto::INT:
      return AttributeValue(int64_t{attribute.i()});
    case AttributeProto::STRING:
      return AttributeValue(attribute.s());
    case AttributeProto::TENSOR: {
      ASSIGN_OR_RETURN(Tensor tensor, ImportTensor(attribute.t(), scope));
      return AttributeValue(std::move(tensor));
    }
    case AttributeProto::SPARSE_TENSOR: {
      ASSIGN_OR_RETURN(Tensor tensor,
                       DenseFromSparseProto(attribute.sparse_tensor(), &session_.external,
                                            &session_.sparse_budget));
      return AttributeValue(std::move(tensor));
    }
    case AttributeProto::GRAPH: {
      ASSIGN_OR_RETURN(std::shared_ptr<Graph> graph, ImportSubgraph(attribute.g(), shapes, scope));
      return AttributeValue(std::move(graph));
    }
    case AttributeProto::TYPE_PROTO: {
      ASSIGN_OR_RETURN(ValueType type, TypeFromProto(attribute.tp()));
      return AttributeValue(std::move(type));
    }
    case AttributeProto::FLOATS:
      return AttributeValue(
          std::vector<float>(attribute.floats().begin(), attribute.floats().end()));
    case AttributeProto::INTS:
      return AttributeValue(std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
    case AttributeProto::STRINGS:
      return AttributeValue(
          std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
    case AttributeProto::TENSORS: {
      std::vector<Tensor> tensors;
      for (const auto& t : attribute.tensors()) {
        ASSIGN_OR_RETURN(Tensor tensor, ImportTensor(t, scope));
        tensors.push_back(std::move(tensor));
      }
      return AttributeValue(std::move(tensors));
    }
    case AttributeProto::GRAPHS: {
      std::vector<std::shared_ptr<Graph>> graphs;
      for (const auto& g : attribute.graphs()) {
        ASSIGN_OR_RETURN(std::shared_ptr<Graph> graph, ImportSubgraph(g, shapes, scope));
        graphs.push_back(std::move(graph));
      }
      return AttributeValue(std::move(graphs));
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("attribute \"", attribute.name(), "\" has kind ", KindOf(attribute),
                       ", which is not supported here, or no value at all"));
  }
}

absl::StatusOr<Attributes> GraphImporter::ImportAttributes(const onnx::NodeProto& node,
                                                           Scope& scope) {
  // Control flow is the standard's; elsewhere bodies are models that get what they declare.
  const InputShapes shapes =
      CanonicalDomain(node.domain()).empty() ? InputShapes::kRankOnly : InputShapes::kBelieved;
  Attributes attributes;
  for (const auto& attribute : node.attribute()) {
    ASSIGN_OR_RETURN(const BoundAttribute bound, ResolveAttribute(attribute, scope));
    if (bound.proto == nullptr) continue;
    if (&bound.scope->graph() != &scope.graph() &&
        (bound.proto->has_g() || bound.proto->graphs_size() > 0)) {
      return absl::UnimplementedError(
          absl::StrCat("attribute \"", attribute.name(),
                       "\" uses a graph handed to a function inside a nested graph"));
    }
    ASSIGN_OR_RETURN(AttributeValue value, ImportAttribute(*bound.proto, shapes, *bound.scope));
    if (attributes.has(attribute.name())) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute \"", attribute.name(), "\" is given twice"));
    }
    attributes.Set(attribute.name(), std::move(value));
  }
  return attributes;
}

}  // namespace inferd::engine
