#include <limits>

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "tests/engine/onnx/malformed_mutations.h"

namespace inferd::engine {
namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

NodeProto& Node(ModelProto& model, int i) {
  const int n = model.graph().node_size();
  return *model.mutable_graph()->mutable_node((i % n + n) % n);
}
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
// Changes one attribute of a kind in every node that has one.
template <typename Fn>
Result ChangeAttributes(ModelProto& model, AttributeProto::AttributeType type, Fn fn) {
  bool changed = false;
  for (NodeProto& node : *model.mutable_graph()->mutable_node()) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.type() != type) continue;
      fn(attribute);
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  return Change{kMayRun, ""};
}

}  // namespace

std::vector<Mutation> NodeMutations() {
  return {
      // Nodes and names.
      {"InputMissing",
       [](ModelProto& m) -> Result {
         // Without a trip count a loop is endless: it runs into its limit, in minutes.
         if (Node(m, 0).op_type() == "Loop") return std::nullopt;
         Node(m, 0).set_input(0, "");
         return Change{kMustFail, Node(m, 0).name()};
       }},
      {"LastInputMissing",
       [](ModelProto& m) -> Result {
         Node(m, -1).set_input(0, "");
         return Change{kMustFail, Node(m, -1).name()};
       }},
      {"InputUnknown",
       [](ModelProto& m) -> Result {
         Node(m, -1).set_input(0, "nowhere");
         return Change{kMustFail, "\"nowhere\""};
       }},
      {"AllInputsGone",
       [](ModelProto& m) -> Result {
         Node(m, 0).clear_input();
         return Change{kMustFail, Node(m, 0).name()};
       }},
      {"FiftyInputs",
       [](ModelProto& m) -> Result {
         for (int i = 0; i < 50; ++i) Node(m, 0).add_input(Node(m, 0).input(0));
         // Of If they look like captured values, which nothing reads.
         return Change{Node(m, 0).op_type() == "If", "node_"};
       }},
      {"FiftyOutputs",
       [](ModelProto& m) -> Result {
         for (int i = 0; i < 50; ++i) Node(m, 0).add_output(absl::StrCat("more", i));
         return Change{kMustFail, "node_"};
       }},
      {"Cycle",
       [](ModelProto& m) -> Result {
         Node(m, 0).set_input(0, Node(m, -1).output(0));
         return Change{kMustFail, "cycle"};
       }},
      {"OperatorUnknown",
       [](ModelProto& m) -> Result {
         Node(m, 0).set_op_type("Xyzzy");
         return Change{kMustFail, "Xyzzy"};
       }},
      {"DomainUnknown",
       [](ModelProto& m) -> Result {
         Node(m, 0).set_domain("com.nobody");
         return Change{kMustFail, "com.nobody"};
       }},
      {"OperatorEmpty",
       [](ModelProto& m) -> Result {
         Node(m, 0).clear_op_type();
         return Change{kMustFail, "no operator type"};
       }},
      {"NodesTwice",
       [](ModelProto& m) -> Result {
         const GraphProto copy = m.graph();
         m.mutable_graph()->mutable_node()->MergeFrom(copy.node());
         return Change{kMustFail, "produced twice"};
       }},
      {"NodesGone",
       [](ModelProto& m) -> Result {
         m.mutable_graph()->clear_node();
         return Change{kMustFail, "produced by no node"};
       }},
      {"NodesReversed",
       [](ModelProto& m) -> Result {
         auto* nodes = m.mutable_graph()->mutable_node();
         for (int i = 0; i < nodes->size() / 2; ++i) nodes->SwapElements(i, nodes->size() - 1 - i);
         return Change{kMayRun, ""};
       }},
      {"EveryOperatorIsAnother",
       [](ModelProto& m) -> Result {
         for (NodeProto& node : *m.mutable_graph()->mutable_node()) {
           node.set_op_type("MatMul");
           node.clear_domain();
         }
         return Change{kMustFail, "node_"};
       }},
      {"OutputIsTheInput",
       [](ModelProto& m) -> Result {
         Node(m, 0).set_output(0, m.graph().input(0).name());
         return Change{kMustFail, ""};
       }},
      {"GiantName",
       [](ModelProto& m) -> Result {
         Node(m, 0).set_name(std::string(1 << 20, 'n'));
         return Change{kMayRun, ""};
       }},
      {"OddNames",
       [](ModelProto& m) -> Result {
         const std::string odd("\0\xff\xc3\n\"%s", 7);
         const std::string old = Node(m, 0).output(0);
         Node(m, 0).set_name(odd);
         Node(m, 0).set_output(0, odd);
         for (NodeProto& node : *m.mutable_graph()->mutable_node()) {
           for (std::string& input : *node.mutable_input()) {
             if (input == old) input = odd;
           }
         }
         return Change{kMayRun, ""};
       }},
      // Attributes.
      {"AttributeOfAnotherKind",
       [](ModelProto& m) -> Result {
         for (auto type : {AttributeProto::INT, AttributeProto::INTS, AttributeProto::FLOAT}) {
           NodeProto* node = NodeWithAttribute(m, type);
           if (node == nullptr) continue;
           AttributeProto* attribute = FirstAttribute(*node, type);
           attribute->set_type(AttributeProto::STRING);
           attribute->set_s("text");
           // An old form's attribute may be judged where a rule takes it.
           return Change{m.opset_import(0).version() < 7 || node->domain() == "my", node->name()};
         }
         return std::nullopt;
       }},
      {"AttributeUnknown",
       [](ModelProto& m) -> Result {
         AttributeProto* attribute = Node(m, 0).add_attribute();
         attribute->set_name("no_such_attribute");
         attribute->set_type(AttributeProto::INT);
         // A function takes what it does not declare and leaves it unread.
         return Change{Node(m, 0).domain() == "my", "no_such_attribute"};
       }},
      {"AttributeTwice",
       [](ModelProto& m) -> Result {
         for (NodeProto& node : *m.mutable_graph()->mutable_node()) {
           if (node.attribute_size() == 0 || node.domain() == "my") continue;
           *node.add_attribute() = AttributeProto(node.attribute(0));
           return Change{kMustFail, "given twice"};
         }
         return std::nullopt;
       }},
      {"AttributeRefersToNothing",
       [](ModelProto& m) -> Result {
         AttributeProto* attribute = Node(m, 0).add_attribute();
         attribute->set_name("axis");
         attribute->set_type(AttributeProto::INT);
         attribute->set_ref_attr_name("outer");
         return Change{kMustFail, "\"outer\""};
       }},
      {"AttributesGone",
       [](ModelProto& m) -> Result {
         for (NodeProto& node : *m.mutable_graph()->mutable_node()) node.clear_attribute();
         return Change{kMayRun, ""};
       }},
      {"AttributeKindUnknown",
       [](ModelProto& m) -> Result {
         AttributeProto* attribute = Node(m, 0).add_attribute();
         attribute->set_name("strange");
         return Change{Node(m, 0).domain() == "my", "strange"};
       }},
      {"IntsLargest",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::INT, [](AttributeProto& a) {
           a.set_i(std::numeric_limits<int64_t>::max());
         });
       }},
      {"IntsSmallest",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::INT, [](AttributeProto& a) {
           a.set_i(std::numeric_limits<int64_t>::min());
         });
       }},
      {"IntsZero",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::INT, [](AttributeProto& a) { a.set_i(0); });
       }},
      {"ListsEmpty",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::INTS,
                                 [](AttributeProto& a) { a.clear_ints(); });
       }},
      {"ListsLong",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::INTS, [](AttributeProto& a) {
           for (int i = 0; i < 1000; ++i) a.add_ints(1);
         });
       }},
      {"ListsOfLargest",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::INTS, [](AttributeProto& a) {
           for (int64_t& v : *a.mutable_ints()) v = std::numeric_limits<int64_t>::max();
         });
       }},
      {"ListsOfSmallest",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::INTS, [](AttributeProto& a) {
           for (int64_t& v : *a.mutable_ints()) v = std::numeric_limits<int64_t>::min();
         });
       }},
      {"ListsOfBillions",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::INTS, [](AttributeProto& a) {
           for (int64_t& v : *a.mutable_ints()) v = 2'000'000'000;
         });
       }},
      {"ListsNegative",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::INTS, [](AttributeProto& a) {
           for (int64_t& v : *a.mutable_ints()) v = -1;
         });
       }},
      {"FloatsNotANumber",
       [](ModelProto& m) -> Result {
         return ChangeAttributes(m, AttributeProto::FLOAT, [](AttributeProto& a) {
           a.set_f(std::numeric_limits<float>::quiet_NaN());
         });
       }},
  };
}

}  // namespace inferd::engine
