#include "engine/ops/op_def.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using Option = FormalParameter::Option;

int MaxCount(const std::vector<FormalParameter>& parameters) {
  if (!parameters.empty() && IsVariadic(parameters.back().option)) return INT_MAX;
  return static_cast<int>(parameters.size());
}

const FormalParameter* ParameterAt(const std::vector<FormalParameter>& parameters, int i) {
  if (i < static_cast<int>(parameters.size())) return &parameters[i];
  if (!parameters.empty() && IsVariadic(parameters.back().option)) {
    return &parameters.back();
  }
  return nullptr;
}

std::string Key(absl::string_view domain, absl::string_view name) {
  return domain.empty() ? std::string(name) : absl::StrCat(domain, "::", name);
}

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::abort();
}

std::string ExpectedCount(int min, int max) {
  if (min == max) return absl::StrCat(min);
  if (max == INT_MAX) return absl::StrCat(min, " or more");
  return absl::StrCat(min, " to ", max);
}

// Checks operands of one side against the formal parameters; binds type variables as it goes.
void CheckOperands(absl::string_view side, const std::vector<Value*>& values,
                   const std::vector<FormalParameter>& parameters,
                   absl::flat_hash_map<absl::string_view, ElementType>& bound,
                   std::vector<std::string>& faults) {
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    const FormalParameter* parameter = ParameterAt(parameters, i);
    if (parameter == nullptr) break;  // the arity fault has been noted
    if (values[i] == nullptr) {
      if (side == "input" && parameter->option != Option::kOptional) {
        faults.push_back(absl::StrCat(side, " ", i, " (", parameter->name, ") is missing"));
      }
      continue;
    }
    const ValueType& type = values[i]->type();
    if (!type.is_tensor()) {
      // Without a constraint anything goes: Identity, captures of a body.
      if (!parameter->types.empty() && !parameter->types.contains(ElementType::kComposite)) {
        faults.push_back(absl::StrCat(side, " ", i, " (", parameter->name, ") is a ",
                                      type.ToString(), "; supported are tensors of ",
                                      parameter->types.ToString()));
      }
      continue;
    }
    if (type.element == ElementType::kUndefined) continue;
    if (!parameter->types.empty() && !parameter->types.contains(type.element)) {
      faults.push_back(absl::StrCat(side, " ", i, " (", parameter->name, ") has element type ",
                                    ElementTypeName(type.element), "; supported are ",
                                    parameter->types.ToString()));
      continue;
    }
    if (parameter->type_variable.empty()) continue;
    auto [it, fresh] = bound.emplace(parameter->type_variable, type.element);
    if (!fresh && it->second != type.element) {
      faults.push_back(absl::StrCat(
          side, " ", i, " (", parameter->name, ") has element type ", ElementTypeName(type.element),
          ", but type ", parameter->type_variable, " is already ", ElementTypeName(it->second)));
    }
  }
}

// Inference over the types stored in a graph's values.
class GraphInference final : public InferenceContext {
 public:
  explicit GraphInference(Node& node) : node_(node) {}
  const Node& node() const override { return node_; }
  const ValueType& input_type(int i) const override {
    static const ValueType* const kAbsent = new ValueType;
    const Value* value = node_.input(i);
    return value != nullptr ? value->type() : *kAbsent;
  }
  const Tensor* constant(int i) const override {
    const Value* value = node_.input(i);
    return value != nullptr && value->is_constant() ? &value->constant() : nullptr;
  }
  void SetOutput(int i, ValueType type) override {
    if (Value* output = node_.output(i)) output->type() = std::move(type);
  }

 private:
  Node& node_;
};

}  // namespace

int OpDef::min_inputs() const {
  int count = 0;
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    if (inputs[i].option == Option::kRequired || inputs[i].option == Option::kVariadic) {
      count = i + 1;
    }
  }
  return count;
}

int OpDef::max_inputs() const { return MaxCount(inputs); }
int OpDef::max_outputs() const { return MaxCount(outputs); }
const FormalParameter* OpDef::input_parameter(int i) const { return ParameterAt(inputs, i); }
const FormalParameter* OpDef::output_parameter(int i) const { return ParameterAt(outputs, i); }
std::string OpDef::qualified_name() const { return Key(domain, name); }

void OpRegistry::Register(OpDef def) {
  std::string key = def.qualified_name();
  if (def.infer == nullptr) Die(absl::StrCat("operator ", key, " has no shape function"));
  auto [it, fresh] = defs_.try_emplace(key, nullptr);
  if (!fresh) Die(absl::StrCat("operator ", key, " is registered twice"));
  it->second = std::make_unique<OpDef>(std::move(def));
}

const OpDef* OpRegistry::Find(absl::string_view domain, absl::string_view name) const {
  auto it = defs_.find(Key(domain, name));
  return it == defs_.end() ? nullptr : it->second.get();
}

const OpDef& OpRegistry::Get(absl::string_view name, absl::string_view domain) const {
  const OpDef* def = Find(domain, name);
  if (def == nullptr && domain.empty()) def = Find(kInferdDomain, name);
  if (def == nullptr) Die(absl::StrCat("no operator ", Key(domain, name), " is registered"));
  return *def;
}

std::vector<const OpDef*> OpRegistry::All() const {
  std::vector<const OpDef*> all;
  for (const auto& [key, def] : defs_) all.push_back(def.get());
  std::sort(all.begin(), all.end(), [](const OpDef* a, const OpDef* b) {
    return std::pair(a->domain, a->name) < std::pair(b->domain, b->name);
  });
  return all;
}

absl::Status CheckNode(const Node& node) {
  const OpDef& op = node.op();
  std::vector<std::string> faults;
  if (node.num_inputs() < op.min_inputs() || node.num_inputs() > op.max_inputs()) {
    faults.push_back(absl::StrCat("has ", node.num_inputs(), " inputs, expected ",
                                  ExpectedCount(op.min_inputs(), op.max_inputs())));
  }
  if (node.num_outputs() > op.max_outputs()) {
    faults.push_back(
        absl::StrCat("has ", node.num_outputs(), " outputs, expected at most ", op.max_outputs()));
  }
  absl::flat_hash_map<absl::string_view, ElementType> bound;
  CheckOperands("input", node.inputs(), op.inputs, bound, faults);
  CheckOperands("output", node.outputs(), op.outputs, bound, faults);
  for (const AttributeSpec& spec : op.attributes) {
    const AttributeValue* value = node.attributes().Find(spec.name);
    if (value == nullptr) {
      if (spec.required) faults.push_back(absl::StrCat("lacks attribute '", spec.name, "'"));
      continue;
    }
    static constexpr absl::string_view kKinds[] = {"int",     "float",   "string", "tensor",
                                                   "graph",   "type",    "ints",   "floats",
                                                   "strings", "tensors", "graphs"};
    const absl::string_view expected = kKinds[static_cast<int>(spec.kind)];
    if (AttributeKindName(*value) != expected) {
      faults.push_back(absl::StrCat("has attribute '", spec.name, "' of kind ",
                                    AttributeKindName(*value), ", expected ", expected));
    }
  }
  for (const auto& [name, value] : node.attributes()) {
    bool known = false;
    for (const AttributeSpec& spec : op.attributes) known = known || spec.name == name;
    if (!known) faults.push_back(absl::StrCat("has unknown attribute '", name, "'"));
  }
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("node ", node.display_name(), ": ", absl::StrJoin(faults, "; ")));
}

absl::Status InferNode(Graph&, Node& node) {
  GraphInference context(node);
  if (absl::Status status = node.op().infer(context); !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("node ", node.display_name(), ": ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status InferShapes(Graph& graph) {
  for (const auto& node : graph.nodes()) RETURN_IF_ERROR(InferNode(graph, *node));
  return absl::OkStatus();
}

}  // namespace inferd::engine
