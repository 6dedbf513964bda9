// Every operator's shape function on absurd input: any answer will do, as long as it is one.
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "engine/ir/graph.h"
#include "engine/ops/op_def.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

class Absurd {
 public:
  explicit Absurd(uint64_t seed) : rng_(seed) {}

  int64_t Below(int64_t n) { return static_cast<int64_t>(rng_() % static_cast<uint64_t>(n)); }

  // Mostly small, sometimes at a limit.
  int64_t Int() {
    constexpr int64_t kLimits[] = {std::numeric_limits<int64_t>::min(),
                                   std::numeric_limits<int64_t>::max(),
                                   int64_t{1} << 31,
                                   int64_t{1} << 40,
                                   -(int64_t{1} << 40),
                                   1000000};
    return Below(6) == 0 ? kLimits[Below(6)] : Below(9) - 3;
  }
  float Float() {
    constexpr float kLimits[] = {std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN(), 1e38f, 1e-38f};
    return Below(6) == 0 ? kLimits[Below(4)] : static_cast<float>(Below(9) - 3) / 2;
  }
  std::string String() {
    constexpr const char* kWords[] = {"",        "SAME_UPPER", "VALID",   "linear",    "cubic",
                                      "nearest", "wrap",       "add",     "ij,jk",     "...i->i",
                                      "CRD",     "NONE",       "reflect", "asymmetric"};
    return kWords[Below(14)];
  }
  SymbolicShape Shape() {
    if (Below(6) == 0) return {};
    std::vector<Dim> dims(Below(6));
    for (Dim& d : dims) {
      const int64_t kind = Below(8);
      if (kind == 0) continue;
      if (kind == 1) {
        d = Dim::Symbol("n");
      } else if (kind == 2) {
        d = Dim(int64_t{1} << (20 + Below(43)));
      } else {
        d = Dim(Below(6));
      }
    }
    return SymbolicShape(std::move(dims));
  }
  ElementType Type(ElementTypeSet set) {
    for (int tries = 0; tries < 200; ++tries) {
      const auto type = static_cast<ElementType>(1 + Below(kNumElementTypes - 1));
      if (set.contains(type)) return type;
    }
    return ElementType::kFloat32;
  }
  // A small constant of integers or floats; undefined for other types.
  Tensor Constant(ElementType type) {
    Tensor result;
    const int64_t count = Below(6);
    const inferd::engine::Shape shape =
        Below(8) == 0 ? inferd::engine::Shape{} : inferd::engine::Shape{count};
    DispatchType<int64_t, int32_t, float>(type, [&]<typename T>() {
      std::vector<T> values(shape.NumElements());
      for (T& v : values) {
        if constexpr (std::is_integral_v<T>) {
          v = static_cast<T>(Int());
        } else {
          v = Float();
        }
      }
      result = Tensor::FromValues<T>(shape, absl::Span<const T>(values));
    });
    return result;
  }
  template <typename T, typename Make>
  std::vector<T> List(Make make) {
    std::vector<T> values(Below(7));
    for (T& v : values) v = make();
    return values;
  }
  void SetAttribute(const AttributeSpec& spec, Attributes* attributes) {
    using Kind = AttributeSpec::Kind;
    const std::string name(spec.name);
    switch (spec.kind) {
      case Kind::kInt:
        return attributes->Set(name, Int());
      case Kind::kFloat:
        return attributes->Set(name, Float());
      case Kind::kString:
        return attributes->Set(name, String());
      case Kind::kInts:
        return attributes->Set(name, List<int64_t>([&] { return Int(); }));
      case Kind::kFloats:
        return attributes->Set(name, List<float>([&] { return Float(); }));
      case Kind::kStrings:
        return attributes->Set(name, List<std::string>([&] { return String(); }));
      case Kind::kTensor:
        return attributes->Set(name, Constant(ElementType::kInt64));
      default:
        return;  // graphs and types have tests of their own
    }
  }

 private:
  std::mt19937_64 rng_;
};

TEST(ShapeFunctions, AbsurdInputNeverCrashes) {
  int64_t accepted = 0, refused = 0;
  for (const OpDef* op : OpRegistry::Global().All()) {
    if (op->infer == nullptr) continue;
    for (uint64_t round = 0; round < 300; ++round) {
      Absurd absurd(round * 7919 + op->name.size());
      Graph graph("absurd");
      std::vector<Value*> inputs, outputs;
      const int most = std::min(op->max_inputs(), op->min_inputs() + 4);
      const int count =
          op->min_inputs() + static_cast<int>(absurd.Below(most - op->min_inputs() + 1));
      for (int i = 0; i < count; ++i) {
        const FormalParameter* parameter = op->input_parameter(i);
        if (parameter->option != FormalParameter::Option::kRequired && absurd.Below(4) == 0) {
          inputs.push_back(nullptr);
          continue;
        }
        const ElementType type = absurd.Type(parameter->types);
        const Tensor constant = absurd.Below(2) == 0 ? absurd.Constant(type) : Tensor();
        inputs.push_back(constant.defined()
                             ? graph.AddConstant("", constant)
                             : graph.AddInput("", ValueType::TensorOf(type, absurd.Shape())));
      }
      const int most_outputs = std::min(op->max_outputs(), 4);
      for (int i = 0; i < most_outputs; ++i) outputs.push_back(graph.AddValue(""));
      Attributes attributes;
      for (const AttributeSpec& spec : op->attributes) {
        if (spec.required || absurd.Below(2) == 0) absurd.SetAttribute(spec, &attributes);
      }
      Node* node =
          graph.AddNode(*op, "", std::move(inputs), std::move(outputs), std::move(attributes));
      // As on import: what the schema refuses never reaches the shape function.
      const bool ok = CheckNode(*node).ok() && InferNode(graph, *node).ok();
      ++(ok ? accepted : refused);
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace inferd::engine
