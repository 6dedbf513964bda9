#include "tests/engine/passes/pass_tester.h"

#include <cmath>
#include <map>
#include <utility>

#include "engine/ir/text_format.h"
#include "engine/ops/op_def.h"
#include "engine/passes/evaluate.h"
#include "engine/passes/pass.h"
#include "engine/passes/rewrite.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

std::unique_ptr<Graph> Parse(absl::string_view text) {
  auto graph = ParseGraph(text, OpRegistry::Global());
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return std::make_unique<Graph>();
  const absl::Status inferred = InferShapes(**graph);
  EXPECT_TRUE(inferred.ok()) << inferred;
  return *std::move(graph);
}

Tensor RandomInput(const ValueType& type, uint32_t* state) {
  Shape shape;
  for (const Dim& dim : type.shape.dims()) shape.push_back(dim.known() ? dim.value() : 2);
  std::vector<float> values(shape.NumElements());
  for (float& v : values) {
    *state = *state * 1664525u + 1013904223u;
    v = static_cast<float>(*state >> 8) * 0x1p-23f - 1.0f;
  }
  return Tensor::FromValues<float>(shape, values);
}

// One node on its own in a graph whose inputs are the values.
absl::StatusOr<std::vector<Tensor>> RunNode(const Node& node,
                                            const std::map<const Value*, Tensor>& values) {
  Graph graph;
  std::vector<Value*> inputs, outputs;
  for (const Value* input : node.inputs()) {
    inputs.push_back(input == nullptr ? nullptr : graph.AddConstant("", values.at(input)));
  }
  for (const Value* output : node.outputs()) {
    outputs.push_back(output == nullptr ? nullptr : graph.AddValue(output->name()));
  }
  Node* copy = graph.AddNode(node.op(), node.name(), inputs, outputs, node.attributes());
  RETURN_IF_ERROR(InferNode(graph, *copy));
  return EvaluateNode(*copy);
}

absl::StatusOr<std::vector<Tensor>> RunGraph(const Graph& graph) {
  std::map<const Value*, Tensor> values;
  uint32_t state = 12345;
  for (const Value* input : graph.inputs()) values[input] = RandomInput(input->type(), &state);
  for (const Value* constant : graph.constants()) values[constant] = constant->constant();
  for (const auto& node : graph.nodes()) {
    ASSIGN_OR_RETURN(std::vector<Tensor> results, RunNode(*node, values));
    for (size_t i = 0; i < results.size(); ++i) values[node->output(i)] = results[i];
  }
  std::vector<Tensor> outputs;
  for (const Value* output : graph.outputs()) outputs.push_back(values.at(output));
  return outputs;
}

}  // namespace

std::vector<std::string> Rewritten::ops() const {
  std::vector<std::string> names;
  for (const auto& n : after->nodes()) names.push_back(n->op().qualified_name());
  return names;
}

const Node* Rewritten::node(absl::string_view qualified_name) const {
  for (const auto& n : after->nodes()) {
    if (IsOp(n.get(), qualified_name)) return n.get();
  }
  ADD_FAILURE() << "no " << qualified_name << " in\n" << PrintGraph(*after);
  return nullptr;
}

Rewritten RunOnePass(absl::string_view pass, absl::string_view text) {
  Rewritten result;
  result.before = Parse(text);
  result.after = result.before->Clone();
  for (const Pass& p : AllPasses()) {
    if (p.name != pass) continue;
    const auto applied = p.run(*result.after, OpRegistry::Global());
    EXPECT_TRUE(applied.ok()) << applied.status();
    result.applied = applied.value_or(0);
    const absl::Status valid = Verify(*result.after);
    EXPECT_TRUE(valid.ok()) << valid << "\n" << PrintGraph(*result.after);
    return result;
  }
  ADD_FAILURE() << "no pass named " << pass;
  return result;
}

Rewritten RunEveryPass(absl::string_view text) {
  Rewritten result;
  result.before = Parse(text);
  result.after = result.before->Clone();
  const auto results = RunPasses(*result.after, OpRegistry::Global(), {});
  EXPECT_TRUE(results.ok()) << results.status();
  if (results.ok()) {
    for (const PassResult& r : *results) result.applied += r.applied;
  }
  return result;
}

::testing::AssertionResult SameOutputs(const Rewritten& rewritten, double tolerance) {
  const auto a = RunGraph(*rewritten.before);
  const auto b = RunGraph(*rewritten.after);
  if (!a.ok()) return ::testing::AssertionFailure() << "before: " << a.status();
  if (!b.ok()) {
    return ::testing::AssertionFailure() << "after: " << b.status() << "\n"
                                         << PrintGraph(*rewritten.after);
  }
  if (a->size() != b->size()) return ::testing::AssertionFailure() << "number of outputs differs";
  for (size_t o = 0; o < a->size(); ++o) {
    const Tensor& x = (*a)[o];
    const Tensor& y = (*b)[o];
    if (x.type() != y.type() || !(x.shape() == y.shape())) {
      return ::testing::AssertionFailure()
             << "output " << o << " changed its type or shape to " << y.shape().ToString();
    }
    if (x.type() != ElementType::kFloat32) {
      if (std::memcmp(x.view().data, y.view().data, x.num_bytes()) != 0) {
        return ::testing::AssertionFailure() << "output " << o << " differs";
      }
      continue;
    }
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const float p = x.data<float>()[i], q = y.data<float>()[i];
      if (!(std::abs(p - q) <= tolerance * (1 + std::abs(p)))) {
        return ::testing::AssertionFailure()
               << "output " << o << " element " << i << ": " << p << " before, " << q << " after";
      }
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace inferd::engine
