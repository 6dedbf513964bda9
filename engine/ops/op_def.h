// What an operator is: schema, shape function and reference kernel, registered once.
//
// There is one internal form per operator: the semantics of its newest version in the ONNX
// standard (https://onnx.ai/onnx/operators/). Older versions are rewritten to it on import
// (engine/onnx/opset/), so nothing after import ever asks for an opset.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ir/graph.h"
#include "engine/tensor/element_type.h"

namespace inferd::engine {

class Kernel;     // engine/kernel/kernel.h
struct NodeSpec;  // engine/kernel/kernel.h

// A formal input or output.
struct FormalParameter {
  // kVariadic: one or more operands; kRepeated: any number, none included.
  enum class Option : uint8_t { kRequired, kOptional, kVariadic, kRepeated };

  absl::string_view name;
  // Parameters with the same non-empty type variable ("T") have the same element type; an empty
  // one stands alone. For a heterogeneous variadic leave it empty.
  absl::string_view type_variable;
  ElementTypeSet types;
  Option option = Option::kRequired;
};

inline bool IsVariadic(FormalParameter::Option option) {
  return option == FormalParameter::Option::kVariadic ||
         option == FormalParameter::Option::kRepeated;
}

struct AttributeSpec {
  enum class Kind : uint8_t {
    kInt,
    kFloat,
    kString,
    kTensor,
    kGraph,
    kType,
    kInts,
    kFloats,
    kStrings,
    kTensors,
    kGraphs
  };
  absl::string_view name;
  Kind kind;
  bool required = false;
};

// What a shape function sees: types of the inputs as far as known, values where constant.
// It sets the element type and shape of every output; what cannot be known is left unknown.
// Errors name the input and say what was found and what was expected; the caller adds the node.
class InferenceContext {
 public:
  virtual ~InferenceContext() = default;

  virtual const Node& node() const = 0;
  const Attributes& attributes() const { return node().attributes(); }
  bool has_input(int i) const { return node().input(i) != nullptr; }
  // Unknown where the input is absent.
  virtual const ValueType& input_type(int i) const = 0;
  ElementType element_type(int i) const { return input_type(i).element; }
  const SymbolicShape& shape(int i) const { return input_type(i).shape; }
  // The value of a present input where it is known now; null otherwise.
  virtual const Tensor* constant(int i) const = 0;

  virtual void SetOutput(int i, ValueType type) = 0;
  void SetOutput(int i, ElementType type, SymbolicShape shape) {
    SetOutput(i, ValueType::TensorOf(type, std::move(shape)));
  }
};

using InferFn = absl::Status (*)(InferenceContext&);
// Makes the reference kernel for one node with concrete shapes. All work that depends on the
// shapes alone (strides, normalized axes) is done here, so that Run allocates nothing.
using ReferenceFn = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const NodeSpec&);

struct OpDef {
  absl::string_view domain = {};  // "" is ai.onnx
  absl::string_view name;
  // Newest opset version of the domain in which the operator changed, and which this form
  // implements. A model that imports a newer opset uses this form too (the standard keeps an
  // operator unchanged until it lists a new version).
  int version = 1;
  // Oldest version the importer can bring to this form.
  int oldest_version = 1;
  std::vector<FormalParameter> inputs = {};
  std::vector<FormalParameter> outputs = {};
  std::vector<AttributeSpec> attributes = {};
  InferFn infer = nullptr;
  ReferenceFn reference = nullptr;

  // Inputs whose values the output shape depends on (Reshape: 1). When such an input is not
  // constant the plan is cut there until its value is known.
  std::vector<int> shape_inputs = {};
  // Output 0 may share memory with these inputs when their type, shape and layout equal its own
  // and nothing else needs them later (the kernel reads element i before it writes element i).
  std::vector<int> in_place_inputs = {};
  // The result is a view of input 0 with another shape: no kernel runs where layouts allow it.
  bool is_reshape = false;
  // Element i of the output depends on elements i of the inputs (after broadcast) alone.
  bool is_elementwise = false;
  // Same inputs, same outputs; false for the random family. Only then may it be folded.
  bool is_deterministic = true;
  // Output shapes depend on the data itself (NonZero) or on a body (If): the kernel allocates its
  // outputs or hands them over.
  bool dynamic_outputs = false;

  // Arity from the formal parameters; max is INT_MAX for a variadic.
  int min_inputs() const;
  int max_inputs() const;
  int max_outputs() const;
  const FormalParameter* input_parameter(int i) const;  // variadic-aware; null past the end
  const FormalParameter* output_parameter(int i) const;
  // "Conv" or "com.microsoft::FusedConv".
  std::string qualified_name() const;
};

// All operators. Built once before main's work starts and constant after.
class OpRegistry {
 public:
  // The process-wide registry with every operator of engine/ops/.
  static const OpRegistry& Global();

  // Dies when the name is taken: one registration per operator.
  void Register(OpDef def);
  const OpDef* Find(absl::string_view domain, absl::string_view name) const;
  // Find in ai.onnx or in the "inferd" domain for forms of our own; dies when there is none.
  // For passes and tests that name an operator of ours.
  const OpDef& Get(absl::string_view name, absl::string_view domain = "") const;
  // In (domain, name) order.
  std::vector<const OpDef*> All() const;

 private:
  absl::flat_hash_map<std::string, std::unique_ptr<OpDef>> defs_;
};

// Domain of operators that exist only inside inferd, such as layout reorders and fused forms.
inline constexpr absl::string_view kInferdDomain = "inferd";

// Runs the shape function of every node in order and stores the results in the values' types.
// Declared types of graph inputs are believed; a model's own value_info for inner values never
// is. Errors name the node.
absl::Status InferShapes(Graph& graph);
// One node, given the current types of its inputs.
absl::Status InferNode(Graph& graph, Node& node);

// Element types and arity of a node against its schema, all faults in one INVALID_ARGUMENT.
absl::Status CheckNode(const Node& node);

}  // namespace inferd::engine
