// A call of a model's own function becomes the nodes of its body.
#include "absl/strings/str_cat.h"
#include "engine/onnx/graph_importer.h"
#include "engine/onnx/node_order.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

// Calls nested deeper than any real model; bounds the stack.
constexpr int kMaxCallDepth = 128;
// Every name of a body carries the prefix, so its length multiplies.
constexpr size_t kMaxPrefix = 512;

absl::Status CheckCall(const Function& function, const onnx::NodeProto& node, const Frame& frame) {
  for (const Frame* f = &frame; f != nullptr; f = f->caller) {
    if (f->function == &function) {
      return absl::InvalidArgumentError(
          absl::StrCat("function ", function.display_name, " calls itself"));
    }
  }
  if (frame.depth >= kMaxCallDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("functions call each other more than ", kMaxCallDepth, " levels deep"));
  }
  const auto& proto = *function.proto;
  if (node.input_size() > proto.input_size() || node.output_size() > proto.output_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the call has ", node.input_size(), " inputs and ", node.output_size(),
                     " outputs, function ", function.display_name, " has ", proto.input_size(),
                     " and ", proto.output_size()));
  }
  return absl::OkStatus();
}

std::string PrefixFor(const onnx::NodeProto& node, const onnx::FunctionProto& proto,
                      const Frame& caller) {
  if (caller.prefix.size() > kMaxPrefix) return caller.prefix;
  const std::string& name = node.name().empty() ? proto.name() : node.name();
  return absl::StrCat(caller.prefix, name.substr(0, kMaxPrefix), "/");
}

}  // namespace

absl::Status GraphImporter::InlineFunction(const Function& function, const onnx::NodeProto& node,
                                           Scope& scope) {
  RETURN_IF_ERROR(CheckCall(function, node, scope.frame()));
  const onnx::FunctionProto& proto = *function.proto;
  session_.inlined_nodes_left -= proto.node_size();
  if (session_.inlined_nodes_left < 0) {
    return absl::InvalidArgumentError("inlining the model's functions makes too many nodes");
  }

  FunctionFindings& found = session_.inlined[function.display_name];
  ++found.calls;
  found.nodes = proto.node_size();

  Frame frame;
  frame.function = &function;
  frame.caller = &scope.frame();
  frame.opsets = &function.opsets;
  frame.depth = scope.frame().depth + 1;
  frame.prefix = PrefixFor(node, proto, scope.frame());
  for (const auto& attribute : function.defaults) {
    frame.attributes[attribute.name()] = {&attribute, &scope};
  }
  for (const auto& attribute : node.attribute()) {
    ASSIGN_OR_RETURN(const BoundAttribute bound, ResolveAttribute(attribute, scope));
    if (bound.proto != nullptr) frame.attributes[attribute.name()] = bound;
  }
  ASSIGN_OR_RETURN(const std::vector<Value*> inputs, ResolveInputs(node, scope));

  Scope body(scope.graph(), nullptr, frame);
  for (int i = 0; i < proto.input_size(); ++i) {
    const size_t at = static_cast<size_t>(i);
    body.Bind(proto.input(i), at < inputs.size() ? inputs[at] : nullptr);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const auto& renamed = scope.frame().renamed;
    auto outer_name = renamed.find(node.output(i));
    frame.renamed[proto.output(i)] = outer_name != renamed.end()
                                         ? outer_name->second
                                         : absl::StrCat(scope.frame().prefix, node.output(i));
    body.used_names.insert(proto.output(i));
  }
  RETURN_IF_ERROR(ImportNodes(proto.node(), body));
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    Value* value = nullptr;
    if (!body.Find(proto.output(i), &value)) {
      return absl::InvalidArgumentError(absl::StrCat("function ", function.display_name,
                                                     " does not produce its output \"",
                                                     proto.output(i), "\""));
    }
    if (scope.Defines(node.output(i))) {
      return absl::InvalidArgumentError(
          absl::StrCat("output \"", node.output(i), "\" has the name of another value"));
    }
    scope.Bind(node.output(i), value);
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
