// GraphProto and function bodies -> Graph. Internal to the importer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/ir/graph.h"
#include "engine/onnx/import_session.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/scope.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
class TensorProto;
}  // namespace onnx
namespace google::protobuf {
template <typename T>
class RepeatedPtrField;
}

namespace inferd::engine {

class GraphImporter {
 public:
  explicit GraphImporter(ImportSession& session) : session_(session) {}

  // The model's own graph; takes its initializers' data over. `frame` is the outermost one.
  absl::StatusOr<std::unique_ptr<Graph>> ImportMainGraph(onnx::GraphProto& proto,
                                                         const Frame& frame);

 private:
  struct Initializer {
    std::string name;
    Tensor tensor;
  };
  // Exporters write the shapes of one iteration on the inputs of a control-flow body, which may
  // see others; there only the rank is taken, which old opsets need.
  enum class InputShapes { kBelieved, kRankOnly };

  // graph_importer.cc
  absl::StatusOr<std::shared_ptr<Graph>> ImportSubgraph(const onnx::GraphProto& proto,
                                                        InputShapes shapes, Scope& outer);
  absl::Status ImportSparseInitializers(const onnx::GraphProto& proto,
                                        std::vector<Initializer>* initializers);
  absl::Status AddInitializers(std::vector<Initializer> initializers, bool is_main, Scope& scope);
  // An input of the model that has an initializer.
  void AddOptionalInput(const std::string& name, ValueType type, int position, Scope& scope);
  // Inputs that no initializer of the same name replaces; of a body all inputs.
  absl::Status AddInputs(const onnx::GraphProto& proto, bool is_body, InputShapes shapes,
                         Scope& scope);
  absl::Status ImportBody(const onnx::GraphProto& proto, Scope& scope);
  absl::Status ImportNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                           Scope& scope);

  // node_importer.cc
  absl::Status ImportNode(const onnx::NodeProto& node, int index, Scope& scope);
  absl::Status ImportConstant(const onnx::NodeProto& node, Scope& scope);
  absl::Status ImportOperator(const onnx::NodeProto& node, const std::string& display,
                              Scope& scope);
  // Adds what the adapter holds; sets `*gap` to the reason where the node cannot run.
  absl::Status BuildNode(NodeAdapter& adapter, const std::string& name, const onnx::NodeProto& node,
                         Scope& scope, OperatorFindings& findings, std::string* gap);
  absl::Status AddGap(Gap gap, const onnx::NodeProto& node, Scope& scope);
  std::string NoOperator(const NodeAdapter& adapter, const onnx::NodeProto& node);
  absl::StatusOr<int64_t> OpsetOf(absl::string_view domain, const Frame& frame);
  absl::StatusOr<std::vector<Value*>> ResolveInputs(const onnx::NodeProto& node, Scope& scope);
  absl::StatusOr<Value*> AddOutputValue(const std::string& name, Scope& scope);

  // function_inliner.cc
  absl::Status InlineFunction(const Function& function, const onnx::NodeProto& node, Scope& scope);

  // attribute_import.cc
  absl::StatusOr<Attributes> ImportAttributes(const onnx::NodeProto& node, Scope& scope);
  absl::StatusOr<AttributeValue> ImportAttribute(const onnx::AttributeProto& attribute,
                                                 InputShapes shapes, Scope& scope);
  // The attribute a reference stands for, or the attribute itself; null where the caller left it
  // out. INVALID_ARGUMENT for a reference outside of a function.
  absl::StatusOr<BoundAttribute> ResolveAttribute(const onnx::AttributeProto& attribute,
                                                  Scope& scope);
  absl::StatusOr<Tensor> ImportTensor(const onnx::TensorProto& proto, const Scope& scope);

  ImportSession& session_;
};

// Adds a node and infers its outputs' types; INVALID_ARGUMENT where it does not fit its schema.
// A failing shape function is kept in the session.
absl::Status AddCheckedNode(ImportSession& session, Graph& graph, const OpDef& op, std::string name,
                            std::vector<Value*> inputs, std::vector<Value*> outputs,
                            Attributes attributes);

}  // namespace inferd::engine
