#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "tests/engine/onnx/malformed_mutations.h"

namespace inferd::engine {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

NodeProto* NodeWithAttribute(ModelProto& model, AttributeProto::AttributeType type) {
  for (NodeProto& node : *model.mutable_graph()->mutable_node()) {
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.type() == type) return &node;
    }
  }
  return nullptr;
}
AttributeProto* FirstAttribute(NodeProto& node, AttributeProto::AttributeType type) {
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.type() == type) return &attribute;
  }
  return nullptr;
}
GraphProto* FirstBody(ModelProto& model) {
  NodeProto* node = NodeWithAttribute(model, AttributeProto::GRAPH);
  return node == nullptr ? nullptr : FirstAttribute(*node, AttributeProto::GRAPH)->mutable_g();
}

Result ChangeBody(ModelProto& model, void (*fn)(GraphProto&), bool may_run = kMustFail) {
  GraphProto* body = FirstBody(model);
  if (body == nullptr) return std::nullopt;
  fn(*body);
  return Change{may_run, "node_|Xyzzy"};
}

}  // namespace

std::vector<Mutation> BodyMutations() {
  return {
      // Bodies.
      {"BodyWithoutOutputs",
       [](ModelProto& m) { return ChangeBody(m, [](GraphProto& g) { g.clear_output(); }); }},
      {"BodyWithMoreOutputs",
       [](ModelProto& m) {
         return ChangeBody(
             m,
             [](GraphProto& g) {
               for (int i = 0; i < 20; ++i) *g.add_output() = g.output(0);
             },
             kMayRun);
       }},
      {"BodyWithMoreInputs",
       [](ModelProto& m) {
         return ChangeBody(
             m,
             [](GraphProto& g) {
               auto* input = g.add_input();
               input->set_name("one_too_many");
               input->mutable_type()->mutable_tensor_type()->set_elem_type(1);
             },
             kMayRun);
       }},
      {"BodyOutputUnknown",
       [](ModelProto& m) {
         return ChangeBody(m, [](GraphProto& g) { g.mutable_output(0)->set_name("nothing"); });
       }},
      {"BodyReadsUnknown",
       [](ModelProto& m) {
         return ChangeBody(m, [](GraphProto& g) { g.mutable_node(0)->set_input(0, "nowhere"); });
       }},
      {"BodyCycle",
       [](ModelProto& m) {
         return ChangeBody(
             m, [](GraphProto& g) { g.mutable_node(0)->set_input(0, g.node(0).output(0)); });
       }},
      {"BodyOperatorUnknown",
       [](ModelProto& m) {
         return ChangeBody(m, [](GraphProto& g) { g.mutable_node(0)->set_op_type("Xyzzy"); });
       }},
      {"BodyOfAnotherType",
       [](ModelProto& m) -> Result {
         GraphProto* body = FirstBody(m);
         if (body == nullptr) return std::nullopt;
         for (NodeProto& node : *body->mutable_node()) {
           node.clear_attribute();
           node.set_op_type("Shape");
           while (node.input_size() > 1) node.mutable_input()->RemoveLast();
         }
         return Change{kMayRun, ""};
       }},
      {"BodyGone",
       [](ModelProto& m) -> Result {
         NodeProto* node = NodeWithAttribute(m, AttributeProto::GRAPH);
         if (node == nullptr) return std::nullopt;
         node->clear_attribute();
         return Change{kMustFail, node->name()};
       }},
      // Functions.
      {"FunctionCallsItself",
       [](ModelProto& m) -> Result {
         if (m.functions_size() == 0) return std::nullopt;
         NodeProto* node = m.mutable_functions(0)->mutable_node(0);
         node->set_op_type("F");
         node->set_domain("my");
         return Change{kMustFail, "calls itself"};
       }},
      {"FunctionTwice",
       [](ModelProto& m) -> Result {
         if (m.functions_size() == 0) return std::nullopt;
         *m.add_functions() = onnx::FunctionProto(m.functions(0));
         return Change{kMustFail, "my::F is defined twice"};
       }},
      {"FunctionMakesNoOutput",
       [](ModelProto& m) -> Result {
         if (m.functions_size() == 0) return std::nullopt;
         m.mutable_functions(0)->set_output(0, "nothing");
         return Change{kMustFail, "\"nothing\""};
       }},
      {"FunctionWithoutNodes",
       [](ModelProto& m) -> Result {
         if (m.functions_size() == 0) return std::nullopt;
         m.mutable_functions(0)->clear_node();
         return Change{kMustFail, "does not produce"};
       }},
      {"FunctionInputTwice",
       [](ModelProto& m) -> Result {
         if (m.functions_size() == 0) return std::nullopt;
         m.mutable_functions(0)->add_input("a");
         return Change{kMayRun, ""};
       }},
  };
}

}  // namespace inferd::engine
