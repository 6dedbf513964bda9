// NodeProto -> nodes of the graph, through the opset rules.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/ir/lift_captures.h"
#include "engine/onnx/graph_importer.h"
#include "engine/onnx/node_order.h"
#include "engine/onnx/opset/foreign_domains.h"
#include "engine/onnx/opset/rules.h"
#include "engine/onnx/proto_access.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

absl::Status AtNode(const std::string& display, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("node ", display, ": ", status.message()));
}

// " in loop_1 (Loop)" for a node of a body.
std::string Enclosing(const ImportSession& session) {
  std::string text;
  for (auto it = session.enclosing_nodes.rbegin(); it != session.enclosing_nodes.rend(); ++it) {
    absl::StrAppend(&text, " in ", *it);
  }
  return text;
}

// Errors of checks and shape functions name the node; gaps and callers name it themselves.
std::string WithoutNode(absl::string_view message, const Node& node) {
  const std::string prefix = absl::StrCat("node ", node.display_name(), ": ");
  return std::string(message.substr(0, prefix.size()) == prefix ? message.substr(prefix.size())
                                                                : message);
}

std::string DescribeTypes(absl::Span<Value* const> inputs) {
  return absl::StrJoin(inputs, ", ", [](std::string* out, const Value* value) {
    const bool known = value != nullptr && (!value->type().is_tensor() ||
                                            value->type().element != ElementType::kUndefined);
    absl::StrAppend(out, value == nullptr ? "none" : known ? value->type().ToString() : "unknown");
  });
}

// "float, int64": element types alone, for summaries.
std::string DescribeElements(absl::Span<Value* const> inputs) {
  return absl::StrJoin(inputs, ", ", [](std::string* out, const Value* value) {
    if (value == nullptr) {
      absl::StrAppend(out, "none");
    } else if (!value->type().is_tensor()) {
      absl::StrAppend(out, value->type().ToString());
    } else if (value->type().element == ElementType::kUndefined) {
      absl::StrAppend(out, "unknown");
    } else {
      absl::StrAppend(out, ElementTypeName(value->type().element));
    }
  });
}

// Combinations of element types a summary names before it says that there are more.
constexpr size_t kNamedCombinations = 6;

// Runs of an adapter add their nodes here, named after the node they stand in for.
class GraphSink final : public NodeSink {
 public:
  GraphSink(ImportSession& session, OperatorFindings& findings, Graph& graph, std::string node_name,
            std::string stem)
      : session_(session),
        findings_(findings),
        graph_(graph),
        node_name_(std::move(node_name)),
        stem_(std::move(stem)) {}

  Value* AddNode(absl::string_view domain, absl::string_view op, std::vector<Value*> inputs,
                 Attributes attributes) override {
    Value* output = graph_.AddValue(absl::StrCat(stem_, "/", op));
    const OpDef* def = session_.registry.Find(domain, op);
    if (def == nullptr) {
      Missing(absl::StrCat("operator ", op, " is not implemented"));
      return output;
    }
    findings_.imported_as.insert(def->qualified_name());
    const std::string name = node_name_.empty() ? "" : absl::StrCat(node_name_, "/", op);
    if (absl::Status status = AddCheckedNode(session_, graph_, *def, name, std::move(inputs),
                                             {output}, std::move(attributes));
        !status.ok()) {
      Missing(status.message());
    }
    return output;
  }
  Value* AddConstant(absl::string_view role, Tensor tensor) override {
    return graph_.AddConstant(absl::StrCat(stem_, "/", role), std::move(tensor));
  }
  void AddNote(std::string note) override { session_.AddNote(std::move(note)); }

  // Why the nodes added so far cannot all run; "" when they can.
  const std::string& missing() const { return missing_; }

 private:
  void Missing(absl::string_view why) {
    if (!missing_.empty()) return;
    missing_ = absl::StrCat("its form in the newest opset needs more: ", why);
  }

  ImportSession& session_;
  OperatorFindings& findings_;
  Graph& graph_;
  std::string node_name_;
  std::string stem_;
  std::string missing_;
};

void AddCombination(absl::Span<Value* const> inputs, OperatorFindings& findings) {
  if (findings.types.size() > kNamedCombinations) return;
  std::string types = DescribeElements(inputs);
  if (findings.types.contains(types)) return;
  const bool full = findings.types.size() == kNamedCombinations;
  findings.types.insert(full ? "..." : std::move(types));
}

// What values made for a node without a name are named after.
std::string NameStem(const onnx::NodeProto& node, Scope& scope) {
  for (const std::string& output : node.output()) {
    if (!output.empty()) return absl::StrCat(scope.frame().prefix, output);
  }
  return absl::StrCat(scope.frame().prefix, node.op_type());
}

absl::StatusOr<Tensor> ConstantTensor(const AttributeValue& value) {
  if (const auto* t = std::get_if<Tensor>(&value)) return *t;
  if (const auto* i = std::get_if<int64_t>(&value)) return Tensor::Scalar<int64_t>(*i);
  if (const auto* f = std::get_if<float>(&value)) return Tensor::Scalar<float>(*f);
  if (const auto* s = std::get_if<std::string>(&value)) return Tensor::Scalar<std::string>(*s);
  if (const auto* is = std::get_if<std::vector<int64_t>>(&value)) return Tensor::Vector(*is);
  if (const auto* fs = std::get_if<std::vector<float>>(&value)) {
    return Tensor::FromValues<float>({static_cast<int64_t>(fs->size())}, *fs);
  }
  if (const auto* ss = std::get_if<std::vector<std::string>>(&value)) {
    return Tensor::FromValues<std::string>({static_cast<int64_t>(ss->size())}, *ss);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("an attribute of kind ", AttributeKindName(value), " is no constant"));
}

}  // namespace

absl::Status AddCheckedNode(ImportSession& session, Graph& graph, const OpDef& op, std::string name,
                            std::vector<Value*> inputs, std::vector<Value*> outputs,
                            Attributes attributes) {
  const bool only_captures = !op.inputs.empty() && op.inputs.back().name == kCapturedParameter;
  if (only_captures && inputs.size() >= op.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", inputs.size(), " inputs, expected at most ", op.inputs.size() - 1));
  }
  // The importer's own: a file that writes it would move the border between operands and captures.
  if (attributes.has(kCapturesAttribute)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has unknown attribute '", kCapturesAttribute, "'"));
  }
  LiftCaptures(op, inputs, attributes);
  while (!inputs.empty() && inputs.back() == nullptr) inputs.pop_back();
  // A body returns as many values as its node has outputs, used or not.
  const bool has_body = std::any_of(attributes.begin(), attributes.end(), [](const auto& a) {
    return std::holds_alternative<std::shared_ptr<Graph>>(a.second);
  });
  while (!has_body && !outputs.empty() && outputs.back() == nullptr) outputs.pop_back();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const FormalParameter* parameter = op.input_parameter(static_cast<int>(i));
    if (inputs[i] == nullptr && parameter != nullptr && IsVariadic(parameter->option)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " (", parameter->name, ") is missing"));
    }
  }
  Node* node = graph.AddNode(op, std::move(name), std::move(inputs), std::move(outputs),
                             std::move(attributes));
  if (absl::Status status = CheckNode(*node); !status.ok()) {
    return absl::Status(status.code(), WithoutNode(status.message(), *node));
  }
  // With a gap somewhere before, types may be missing; errors then prove nothing.
  if (absl::Status status = InferNode(graph, *node);
      !status.ok() && session.gaps.empty() && session.inference_error.ok()) {
    session.inference_error = status;
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportNode(const onnx::NodeProto& node, int index, Scope& scope) {
  const std::string display = DisplayName(node, index);
  if (node.op_type().empty()) {
    return AtNode(display, absl::InvalidArgumentError("it has no operator type"));
  }
  absl::Status status;
  if (const Function* function = session_.functions.Find(node)) {
    status = InlineFunction(*function, node, scope);
  } else if (CanonicalDomain(node.domain()).empty() && node.op_type() == "Constant") {
    status = ImportConstant(node, scope);
  } else {
    status = ImportOperator(node, display, scope);
  }
  return status.ok() ? status : AtNode(absl::StrCat(scope.frame().prefix, display), status);
}

absl::StatusOr<Value*> GraphImporter::AddOutputValue(const std::string& name, Scope& scope) {
  if (scope.Defines(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("output \"", name, "\" has the name of a graph input or initializer"));
  }
  const auto& renamed = scope.frame().renamed;
  auto it = renamed.find(name);
  Value* value = scope.graph().AddValue(
      it != renamed.end() ? it->second : absl::StrCat(scope.frame().prefix, name));
  scope.Bind(name, value);
  return value;
}

absl::StatusOr<std::vector<Value*>> GraphImporter::ResolveInputs(const onnx::NodeProto& node,
                                                                 Scope& scope) {
  std::vector<Value*> inputs;
  for (const std::string& name : node.input()) {
    Value* value = nullptr;
    if (!name.empty() && !scope.Find(name, &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input \"", name, "\" is produced by no node, initializer or input"));
    }
    inputs.push_back(value);
  }
  return inputs;
}

absl::Status GraphImporter::ImportConstant(const onnx::NodeProto& node, Scope& scope) {
  if (node.input_size() != 0 || node.output_size() != 1 || node.output(0).empty()) {
    return absl::InvalidArgumentError(absl::StrCat("Constant has ", node.input_size(),
                                                   " inputs and ", node.output_size(),
                                                   " outputs, expected 0 and 1"));
  }
  ASSIGN_OR_RETURN(const Attributes attributes, ImportAttributes(node, scope));
  const AttributeValue* value = nullptr;
  int found = 0;
  for (absl::string_view name : {"value", "sparse_value", "value_int", "value_ints", "value_float",
                                 "value_floats", "value_string", "value_strings"}) {
    if (const AttributeValue* v = attributes.Find(name)) {
      value = v;
      ++found;
    }
  }
  if (found != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Constant has ", found, " value attributes, expected one"));
  }
  ASSIGN_OR_RETURN(Tensor tensor, ConstantTensor(*value));
  if (scope.Defines(node.output(0))) {
    Value* other = nullptr;
    scope.Find(node.output(0), &other);
    if (other == nullptr || !other->is_constant()) {
      return absl::InvalidArgumentError(
          absl::StrCat("output \"", node.output(0), "\" has the name of a graph input"));
    }
    ++session_.repeated_constants;
  }
  const auto& renamed = scope.frame().renamed;
  auto it = renamed.find(node.output(0));
  scope.Bind(
      node.output(0),
      scope.graph().AddConstant(
          it != renamed.end() ? it->second : absl::StrCat(scope.frame().prefix, node.output(0)),
          std::move(tensor)));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> GraphImporter::OpsetOf(absl::string_view domain, const Frame& frame) {
  auto it = frame.opsets->find(domain);
  if (it != frame.opsets->end()) {
    session_.used_opsets[std::string(domain)] = it->second;
    return it->second;
  }
  if (domain.empty()) {
    return absl::InvalidArgumentError("the model imports no opset of domain ai.onnx");
  }
  // Other domains have so few versions that exporters forget to import them.
  session_.AddNote(absl::StrCat("Domain ", domain,
                                " is used but no opset of it is imported; version 1 is assumed."));
  session_.used_opsets[std::string(domain)] = 1;
  return 1;
}

absl::Status GraphImporter::ImportOperator(const onnx::NodeProto& node, const std::string& display,
                                           Scope& scope) {
  const std::string domain(CanonicalDomain(node.domain()));
  ASSIGN_OR_RETURN(const int64_t opset, OpsetOf(domain, scope.frame()));
  ASSIGN_OR_RETURN(std::vector<Value*> inputs, ResolveInputs(node, scope));
  Gap gap{.domain = domain,
          .op = node.op_type(),
          .opset = opset,
          .node = absl::StrCat(scope.frame().prefix, display, Enclosing(session_)),
          .types = DescribeTypes(inputs),
          .why = {}};
  OperatorFindings& findings = session_.operators[{domain, node.op_type(), opset}];
  AddCombination(inputs, findings);

  session_.enclosing_nodes.push_back(display);
  absl::StatusOr<Attributes> attributes = ImportAttributes(node, scope);
  session_.enclosing_nodes.pop_back();
  if (absl::IsUnimplemented(attributes.status())) {
    gap.why = std::string(attributes.status().message());
    return AddGap(std::move(gap), node, scope);
  }
  RETURN_IF_ERROR(attributes.status());

  const std::string name =
      node.name().empty() ? std::string() : absl::StrCat(scope.frame().prefix, node.name());
  GraphSink sink(session_, findings, scope.graph(), name,
                 name.empty() ? NameStem(node, scope) : name);
  NodeAdapter adapter(sink, opset, gap.node);
  adapter.domain = domain;
  adapter.op = node.op_type();
  adapter.inputs = std::move(inputs);
  adapter.attributes = *std::move(attributes);
  for (const std::string& output : node.output()) {
    adapter.output_used.push_back(!output.empty() && scope.used_names.contains(output));
  }
  // Before opset 6 many operators carried this hint about memory reuse, which changes nothing.
  if (domain.empty() && opset < 6) adapter.attributes.Erase("consumed_inputs");

  if (const OpsetRule* rule = FindRule(domain, node.op_type(), opset)) {
    if (absl::Status status = rule->adapt(adapter); absl::IsUnimplemented(status)) {
      gap.why = std::string(status.message());
      return AddGap(std::move(gap), node, scope);
    } else if (!status.ok()) {
      return status;
    }
  }
  gap.why = sink.missing();
  RETURN_IF_ERROR(BuildNode(adapter, name, node, scope, findings, &gap.why));
  return gap.why.empty() ? absl::OkStatus() : AddGap(std::move(gap), node, scope);
}

absl::Status GraphImporter::AddGap(Gap gap, const onnx::NodeProto& node, Scope& scope) {
  session_.operators[{gap.domain, gap.op, gap.opset}].gaps.insert(gap.why);
  session_.gaps.Add(std::move(gap));
  // The rest of the model is still looked at, so its names must resolve.
  for (const std::string& output : node.output()) {
    if (!output.empty() && !scope.Defines(output)) {
      RETURN_IF_ERROR(AddOutputValue(output, scope).status());
    }
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::BuildNode(NodeAdapter& adapter, const std::string& name,
                                      const onnx::NodeProto& node, Scope& scope,
                                      OperatorFindings& findings, std::string* gap) {
  const OpDef* def = session_.registry.Find(adapter.domain, adapter.op);
  if (def == nullptr) {
    if (gap->empty()) *gap = NoOperator(adapter, node);
    return absl::OkStatus();
  }
  findings.imported_as.insert(def->qualified_name());
  if (adapter.opset() < def->oldest_version && adapter.op == node.op_type()) {
    // Optimizers write operators under opsets that lack them.
    session_.AddNote(absl::StrCat(
        def->qualified_name(), " entered ", DomainForMessages(adapter.domain), " in opset ",
        def->oldest_version, "; under opset ", adapter.opset(), " it runs as of then."));
  }
  std::vector<Value*> outputs;
  std::vector<std::pair<const NodeAdapter::After*, Value*>> after;
  std::vector<std::pair<Value*, Value*>> aliases;
  for (size_t i = 0; i < adapter.output_used.size(); ++i) {
    const std::string& output = node.output(static_cast<int>(i));
    Value* value = nullptr;
    if (!output.empty()) {
      ASSIGN_OR_RETURN(value, AddOutputValue(output, scope));
    }
    for (const NodeAdapter::Alias& alias : adapter.aliases) {
      if (alias.output != i || value == nullptr) continue;
      aliases.emplace_back(alias.value, value);
      value = nullptr;
    }
    for (const NodeAdapter::After& step : adapter.after) {
      if (step.output != i || value == nullptr) continue;
      Value* raw = scope.graph().AddValue(absl::StrCat(value->name(), "/", adapter.op));
      after.emplace_back(&step, value);
      value = raw;
    }
    outputs.push_back(value);
  }
  const std::vector<Value*> made = outputs;
  if (!adapter.output_order.empty()) {
    outputs.clear();
    for (const int i : adapter.output_order) {
      outputs.push_back(i >= 0 && i < static_cast<int>(made.size()) ? made[i] : nullptr);
    }
  }
  absl::Status status =
      AddCheckedNode(session_, scope.graph(), *def, name, std::move(adapter.inputs),
                     std::move(outputs), std::move(adapter.attributes));
  for (const auto& [step, value] : after) {
    const OpDef* op = session_.registry.Find("", step->op);
    if (!status.ok()) break;
    if (op != nullptr) findings.imported_as.insert(op->qualified_name());
    status =
        op == nullptr
            ? absl::UnimplementedError(absl::StrCat("operator ", step->op, " is not implemented"))
            : AddCheckedNode(session_, scope.graph(), *op,
                             name.empty() ? "" : absl::StrCat(name, "/", step->op),
                             {made[step->output]}, {value}, step->attributes);
  }
  for (const auto& [from, to] : aliases) {
    if (!status.ok()) break;
    status = AddCheckedNode(session_, scope.graph(), session_.registry.Get("Identity"), "", {from},
                            {to}, {});
  }
  if (!status.ok() && gap->empty()) *gap = std::string(status.message());
  return absl::OkStatus();
}

std::string GraphImporter::NoOperator(const NodeAdapter& adapter, const onnx::NodeProto& node) {
  if (adapter.op != node.op_type()) {
    return absl::StrCat("it is imported as ", adapter.op, ", which is not implemented");
  }
  if (const absl::string_view why = WhyNoneOf(adapter.domain); !why.empty()) {
    return std::string(why);
  }
  for (const OpDef* op : session_.registry.All()) {
    if (op->domain != adapter.domain) continue;
    const int64_t newest = NewestKnownOpset(adapter.domain);
    if (newest == 0 || adapter.opset() <= newest) return "this operator is not implemented";
    return absl::StrCat("this operator is not known as of opset ", newest,
                        ", the newest known; a later opset may have added it");
  }
  return absl::StrCat("no operator of domain ", DomainForMessages(adapter.domain),
                      " is implemented");
}

}  // namespace inferd::engine
