// Shape functions must answer anything: for every operator of the registry, random arities, element
// types, shapes, constants and attributes, absurd ones included. Nothing is expected of the answer
// but that there is one; the sanitizers watch. What the schema refuses never gets here.
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/ir/graph.h"
#include "engine/ops/op_def.h"
#include "gtest/gtest.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

constexpr int kTriesPerOperator = 300;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  int Below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  int64_t AnyInt() {
    static constexpr int64_t kValues[] = {0,
                                          0,
                                          1,
                                          1,
                                          1,
                                          2,
                                          3,
                                          4,
                                          5,
                                          7,
                                          -1,
                                          -2,
                                          -3,
                                          int64_t{1} << 31,
                                          int64_t{1} << 40,
                                          -(int64_t{1} << 40),
                                          std::numeric_limits<int64_t>::max(),
                                          std::numeric_limits<int64_t>::min()};
    return kValues[Below(std::size(kValues))];
  }
  float AnyFloat() {
    static constexpr float kValues[] = {0,
                                        1,
                                        -1,
                                        0.5f,
                                        1e30f,
                                        -1e30f,
                                        std::numeric_limits<float>::infinity(),
                                        std::numeric_limits<float>::quiet_NaN()};
    return kValues[Below(std::size(kValues))];
  }
  Dim AnyDim() {
    switch (Below(8)) {
      case 0:
        return Dim::Unknown();
      case 1:
        return Dim::Symbol(Below(2) == 0 ? "n" : "m");
      case 2:
        return Dim(std::max<int64_t>(0, AnyInt()));
      default:
        return Dim(Below(5));
    }
  }
  SymbolicShape AnyShape() {
    if (Below(8) == 0) return SymbolicShape();
    std::vector<Dim> dims(Below(12) == 0 ? 20 : Below(6));
    for (Dim& d : dims) d = AnyDim();
    return SymbolicShape(std::move(dims));
  }
  ElementType AnyType(ElementTypeSet allowed) {
    for (int tries = 0; tries < 200; ++tries) {
      const auto type = static_cast<ElementType>(1 + Below(kNumElementTypes - 1));
      if (allowed.empty() || allowed.contains(type)) return type;
    }
    return ElementType::kFloat32;
  }
  // A type of any kind, composites nested a few levels.
  ValueType AnyValueType(int depth = 0) {
    const int kind = depth > 2 ? 0 : Below(5);
    if (kind == 1) return ValueType::SequenceOf(AnyValueType(depth + 1));
    if (kind == 2) return ValueType::OptionalOf(AnyValueType(depth + 1));
    if (kind == 3) return ValueType::MapOf(ElementType::kInt64, AnyValueType(depth + 1));
    // Not all is known of what a body or a rule left open.
    if (Below(10) == 0) return ValueType::TensorOf(ElementType::kUndefined);
    return ValueType::TensorOf(AnyType({}), AnyShape());
  }
  // Hands some of its inputs and some constants on; nothing keeps it to what its node expects.
  std::shared_ptr<Graph> AnyBody() {
    auto body = std::make_shared<Graph>("body");
    std::vector<Value*> values;
    for (int i = Below(6); i > 0; --i) values.push_back(body->AddInput("", AnyValueType()));
    for (int i = Below(3); i > 0; --i) {
      const Tensor constant = AnyConstant(Below(2) == 0 ? ElementType::kInt64 : ElementType::kBool);
      if (constant.defined()) values.push_back(body->AddConstant("", constant));
    }
    if (values.empty()) return body;
    for (int i = Below(6); i > 0; --i)
      body->AddOutput(values[Below(static_cast<int>(values.size()))]);
    return body;
  }
  // A small tensor of `type` where its values may matter to a shape.
  Tensor AnyConstant(ElementType type) {
    const int64_t count = Below(5);
    const Shape shape = count == 1 && Below(2) == 0 ? Shape{} : Shape{count};
    if (type == ElementType::kInt64) {
      std::vector<int64_t> values(count);
      for (int64_t& v : values) v = AnyInt();
      return Tensor::FromValues<int64_t>(shape, values);
    }
    if (type == ElementType::kFloat32) {
      std::vector<float> values(count);
      for (float& v : values) v = AnyFloat();
      return Tensor::FromValues<float>(shape, values);
    }
    return Tensor();
  }
  std::string AnyString() {
    static const char* const kValues[] = {"", "x", "SAME_UPPER", "VALID", "ij,jk->ik", "linear"};
    return kValues[Below(std::size(kValues))];
  }
  void AddAttribute(const AttributeSpec& spec, Attributes& attributes) {
    using Kind = AttributeSpec::Kind;
    const std::string name(spec.name);
    switch (spec.kind) {
      case Kind::kInt:
        attributes.Set(name, Below(2) == 0 ? int64_t{Below(4)} : AnyInt());
        break;
      case Kind::kFloat:
        attributes.Set(name, AnyFloat());
        break;
      case Kind::kString:
        attributes.Set(name, AnyString());
        break;
      case Kind::kInts: {
        std::vector<int64_t> values(Below(5));
        for (int64_t& v : values) v = AnyInt();
        attributes.Set(name, std::move(values));
        break;
      }
      case Kind::kFloats: {
        std::vector<float> values(Below(5));
        for (float& v : values) v = AnyFloat();
        attributes.Set(name, std::move(values));
        break;
      }
      case Kind::kStrings:
        attributes.Set(name, std::vector<std::string>(Below(4), AnyString()));
        break;
      case Kind::kTensor:
        attributes.Set(name, AnyConstant(ElementType::kInt64));
        break;
      case Kind::kTensors:
        attributes.Set(name, std::vector<Tensor>(Below(3), AnyConstant(ElementType::kInt64)));
        break;
      case Kind::kType:
        attributes.Set(name, AnyValueType());
        break;
      case Kind::kGraph:
        attributes.Set(name, AnyBody());
        break;
      case Kind::kGraphs:
        attributes.Set(name, std::vector<std::shared_ptr<Graph>>(Below(3), AnyBody()));
        break;
    }
  }

 private:
  std::mt19937_64 random_;
};

// Builds and infers one random node; the graph is thrown away.
void Try(const OpDef& op, Generator& generator) {
  Graph graph("robustness");
  std::vector<Value*> inputs, outputs;
  const int most = std::min(op.max_inputs(), op.min_inputs() + 3);
  const int arity = op.min_inputs() + generator.Below(most - op.min_inputs() + 1);
  std::vector<std::pair<absl::string_view, ElementType>> bound;
  for (int i = 0; i < arity; ++i) {
    const FormalParameter* parameter = op.input_parameter(i);
    if (parameter->option == FormalParameter::Option::kOptional && generator.Below(3) == 0) {
      inputs.push_back(nullptr);
      continue;
    }
    // Where the schema allows it: no constraint, or composites by name.
    const bool may_be_composite =
        parameter->types.empty() || parameter->types.contains(ElementType::kComposite);
    if (may_be_composite && generator.Below(2) == 0) {
      inputs.push_back(graph.AddInput("", generator.AnyValueType()));
      continue;
    }
    ElementType type = generator.AnyType(parameter->types);
    for (const auto& [variable, chosen] : bound) {
      if (variable == parameter->type_variable) type = chosen;
    }
    if (!parameter->type_variable.empty()) bound.emplace_back(parameter->type_variable, type);
    const Tensor constant = generator.Below(2) == 0 ? generator.AnyConstant(type) : Tensor();
    inputs.push_back(constant.defined()
                         ? graph.AddConstant("", constant)
                         : graph.AddInput("", ValueType::TensorOf(type, generator.AnyShape())));
  }
  const int results = std::min(op.max_outputs(), 1 + generator.Below(3));
  for (int i = 0; i < results; ++i) outputs.push_back(graph.AddValue(""));
  Attributes attributes;
  for (const AttributeSpec& spec : op.attributes) {
    if (spec.required || generator.Below(2) == 0) generator.AddAttribute(spec, attributes);
  }
  Node* node = graph.AddNode(op, "", inputs, outputs, std::move(attributes));
  if (!CheckNode(*node).ok()) return;
  const absl::Status status = InferNode(graph, *node);
  EXPECT_TRUE(status.ok() || !status.message().empty());
}

// The walk reaches what it is meant to reach.
TEST(ShapeFunctionRobustnessTest, TheRegistryHasEveryKindOfOperator) {
  std::set<absl::string_view> domains;
  bool graphs = false, composites = false;
  for (const OpDef* op : OpRegistry::Global().All()) {
    domains.insert(op->domain);
    for (const AttributeSpec& spec : op->attributes) {
      graphs = graphs || spec.kind == AttributeSpec::Kind::kGraph;
    }
    for (const FormalParameter& input : op->inputs) {
      composites = composites || input.types.contains(ElementType::kComposite);
    }
  }
  for (absl::string_view domain : {"", "ai.onnx.ml", "inferd"}) {
    EXPECT_TRUE(domains.contains(domain)) << domain;
  }
  EXPECT_TRUE(graphs);
  EXPECT_TRUE(composites);
}

TEST(ShapeFunctionRobustnessTest, EveryOperatorAnswersAbsurdNodes) {
  uint64_t seed = 1;
  for (const OpDef* op : OpRegistry::Global().All()) {
    SCOPED_TRACE(op->qualified_name());
    Generator generator(seed++);
    for (int i = 0; i < kTriesPerOperator; ++i) Try(*op, generator);
  }
}

// What the header of OpDef says of its fields.
TEST(RegistryTest, DefinitionsAreConsistent) {
  for (const OpDef* op : OpRegistry::Global().All()) {
    SCOPED_TRACE(op->qualified_name());
    EXPECT_NE(op->infer, nullptr);
    EXPECT_GE(op->version, op->oldest_version);
    EXPECT_FALSE(op->outputs.empty());
    for (int i : op->shape_inputs) EXPECT_LT(i, op->max_inputs());
    for (int i : op->in_place_inputs) EXPECT_LT(i, op->max_inputs());
    for (size_t i = 0; i + 1 < op->inputs.size(); ++i) {
      EXPECT_NE(op->inputs[i].option, FormalParameter::Option::kVariadic);
    }
    EXPECT_FALSE(op->dynamic_outputs && op->is_elementwise);
  }
}

}  // namespace
}  // namespace inferd::engine
