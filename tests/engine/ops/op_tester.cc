#include "tests/engine/ops/op_tester.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/device/device.h"
#include "engine/ir/graph.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// A stream of the host: work runs in the caller, with a thread pool beside it.
class InlineStream final : public Stream {
 public:
  explicit InlineStream(int threads) : pool_(threads) {}
  absl::Status Record(Event&) override { return absl::OkStatus(); }
  absl::Status Wait(Event&) override { return absl::OkStatus(); }
  absl::Status Synchronize() override { return absl::OkStatus(); }
  absl::Status CopyToDevice(void* device, const void* host, size_t bytes) override {
    std::memcpy(device, host, bytes);
    return absl::OkStatus();
  }
  absl::Status CopyToHost(void* host, const void* device, size_t bytes) override {
    std::memcpy(host, device, bytes);
    return absl::OkStatus();
  }
  ThreadPool& threads() override { return pool_; }

 private:
  ThreadPool pool_;
};

class TestContext final : public KernelContext {
 public:
  TestContext(std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, bool dynamic,
              const Kernel& kernel, int threads)
      : output_tensors_(outputs), dynamic_(dynamic), stream_(threads) {
    for (const Tensor& t : inputs) inputs_.push_back(t.view());
    for (const Tensor& t : outputs) outputs_.push_back(t.view());
    if (kernel.workspace_bytes() > 0) {
      workspace_ = AllocateHostBuffer(kernel.workspace_bytes()).value();
      std::memset(workspace_.get()->data(), 0xA5, kernel.workspace_bytes());
    }
  }
  const TensorView& input(int i) const override { return i < num_inputs() ? inputs_[i] : absent_; }
  const TensorView& output(int i) const override {
    return i < num_outputs() ? outputs_[i] : absent_;
  }
  bool has_input(int i) const override {
    return i < num_inputs() && inputs_[i].type != ElementType::kUndefined;
  }
  bool has_output(int i) const override {
    // By the type that was inferred: a dynamic output is not there before it is allocated.
    return i < num_outputs() && output_types_[i] != ElementType::kUndefined;
  }
  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  int num_outputs() const override { return static_cast<int>(outputs_.size()); }
  void* workspace() const override {
    return workspace_.get() == nullptr ? nullptr : workspace_.get()->data();
  }
  Stream& stream() const override { return stream_; }
  absl::StatusOr<TensorView> AllocateOutput(int i, const Shape& shape) override {
    if (!dynamic_) return absl::InternalError("AllocateOutput without dynamic_outputs");
    ASSIGN_OR_RETURN(output_tensors_[i], Tensor::Allocate(output_types_[i], shape));
    outputs_[i] = output_tensors_[i].view();
    return outputs_[i];
  }
  void SetOutputTypes(std::vector<ElementType> types) { output_types_ = std::move(types); }

 private:
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
  std::vector<Tensor>& output_tensors_;
  std::vector<ElementType> output_types_;
  bool dynamic_;
  BufferRef workspace_;
  TensorView absent_;
  mutable InlineStream stream_;
};

absl::StatusOr<Tensor> DeepCopy(const Tensor& tensor) {
  if (!tensor.defined()) return Tensor();
  ASSIGN_OR_RETURN(Tensor copy, Tensor::Allocate(tensor.type(), tensor.shape()));
  if (tensor.type() == ElementType::kString) {
    std::copy_n(tensor.data<std::string>(), tensor.num_elements(),
                copy.mutable_data<std::string>());
  } else if (tensor.num_bytes() > 0) {
    std::memcpy(copy.view().data, tensor.view().data, tensor.num_bytes());
  }
  return copy;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.type() == ElementType::kString) {
    return std::equal(a.data<std::string>(), a.data<std::string>() + a.num_elements(),
                      b.data<std::string>());
  }
  return a.num_bytes() == 0 || std::memcmp(a.view().data, b.view().data, a.num_bytes()) == 0;
}

// Whether what was inferred from less could still be `real`.
absl::Status CheckCompatible(const ValueType& inferred, const ValueType& real,
                             absl::string_view how) {
  if (!real.is_tensor()) return absl::OkStatus();
  const auto fail = [&] {
    return absl::InternalError(absl::StrCat("inference ", how, " gives ", inferred.ToString(),
                                            " where the output is ", real.ToString()));
  };
  if (inferred.element != real.element) return fail();
  if (!inferred.shape.has_rank() || !real.shape.has_rank()) return absl::OkStatus();
  if (inferred.shape.rank() != real.shape.rank()) return fail();
  for (int i = 0; i < real.shape.rank(); ++i) {
    if (inferred.shape[i].known() && real.shape[i].known() &&
        inferred.shape[i].value() != real.shape[i].value()) {
      return fail();
    }
  }
  return absl::OkStatus();
}

}  // namespace

struct OpTester::Impl {
  struct InputSpec {
    Tensor tensor;  // undefined: absent
    bool constant = false;
  };
  struct BuiltNode {
    std::unique_ptr<Graph> graph;
    Node* node = nullptr;
  };

  const OpDef* def = nullptr;
  std::string wanted;
  std::vector<InputSpec> inputs;
  Attributes attributes;
  int num_outputs = 1;
  std::vector<int> absent_outputs;
  int threads = 3;

  bool IsShapeInput(int i) const {
    for (int s : def->shape_inputs) {
      if (s == i) return true;
    }
    return false;
  }
  // `shape_values`: whether values of shape inputs are known to the shape function.
  absl::StatusOr<BuiltNode> Build(absl::Span<const ValueType> types, bool shape_values) const {
    if (def == nullptr) return absl::NotFoundError(absl::StrCat("no operator ", wanted));
    BuiltNode built;
    built.graph = std::make_unique<Graph>("op_tester");
    std::vector<Value*> in, out;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (!inputs[i].tensor.defined()) {
        in.push_back(nullptr);
      } else if (inputs[i].constant || (shape_values && IsShapeInput(i))) {
        in.push_back(built.graph->AddConstant(absl::StrCat("in", i), inputs[i].tensor));
      } else {
        in.push_back(built.graph->AddInput(absl::StrCat("in", i), types[i]));
      }
    }
    for (int i = 0; i < num_outputs; ++i) {
      const bool absent =
          std::find(absent_outputs.begin(), absent_outputs.end(), i) != absent_outputs.end();
      out.push_back(absent ? nullptr : built.graph->AddValue(absl::StrCat("out", i)));
    }
    built.node = built.graph->AddNode(*def, "node", std::move(in), std::move(out), attributes);
    RETURN_IF_ERROR(CheckNode(*built.node));
    RETURN_IF_ERROR(InferNode(*built.graph, *built.node));
    return built;
  }
  std::vector<ValueType> RealTypes() const {
    std::vector<ValueType> types;
    for (const InputSpec& in : inputs) {
      types.push_back(ValueType::TensorOf(in.tensor.type(), in.tensor.shape()));
    }
    return types;
  }
  std::vector<ValueType> OutputTypes(const BuiltNode& built) const {
    std::vector<ValueType> types;
    for (int i = 0; i < num_outputs; ++i) {
      const Value* v = built.node->output(i);
      types.push_back(v == nullptr ? ValueType{} : v->type());
    }
    return types;
  }

  absl::Status CheckVagueInference(const std::vector<ValueType>& real) const {
    std::vector<ValueType> no_rank = RealTypes(), no_dims = RealTypes();
    for (size_t i = 0; i < inputs.size(); ++i) {
      no_rank[i].shape = SymbolicShape();
      no_dims[i].shape = SymbolicShape::OfRank(inputs[i].tensor.shape().rank());
    }
    const std::pair<const std::vector<ValueType>*, absl::string_view> variants[] = {
        {&no_rank, "from unknown ranks"}, {&no_dims, "from unknown dimensions"}};
    for (const auto& [types, how] : variants) {
      for (bool values : {false, true}) {
        auto built = Build(*types, values);
        if (!built.ok()) {
          return absl::InternalError(
              absl::StrCat("inference ", how, " fails: ", built.status().message()));
        }
        const std::vector<ValueType> got = OutputTypes(*built);
        for (int i = 0; i < num_outputs; ++i) {
          if (built->node->output(i) != nullptr) {
            RETURN_IF_ERROR(CheckCompatible(got[i], real[i], how));
          }
        }
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Tensor>> RunOnce(const BuiltNode& built, int run_threads,
                                              int in_place_input) const {
    const Node& node = *built.node;
    NodeSpec spec;
    spec.node = &node;
    spec.threads = run_threads;
    std::vector<Tensor> in, out;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      ASSIGN_OR_RETURN(Tensor copy, DeepCopy(inputs[i].tensor));
      OperandSpec operand;
      operand.present = copy.defined();
      operand.type = copy.type();
      operand.shape = copy.shape();
      if (node.input(i) != nullptr) {
        operand.value_type = &node.input(i)->type();
        if (node.input(i)->is_constant()) operand.constant = &inputs[i].tensor;
      }
      spec.inputs.push_back(operand);
      in.push_back(std::move(copy));
    }
    std::vector<ElementType> types;
    for (int i = 0; i < num_outputs; ++i) {
      OperandSpec operand;
      Tensor tensor;
      const Value* value = node.output(i);
      if (value != nullptr) {
        operand.present = true;
        operand.type = value->type().element;
        operand.value_type = &value->type();
        const std::optional<Shape> shape = value->type().shape.concrete();
        if (shape.has_value()) {
          operand.shape = *shape;
          RETURN_IF_ERROR(shape->CheckedNumElements().status());
        } else if (!def->dynamic_outputs) {
          return absl::InternalError(absl::StrCat("output ", i, " has type ",
                                                  value->type().ToString(),
                                                  " though every input shape is known"));
        }
        if (!def->dynamic_outputs) {
          if (i == 0 && in_place_input >= 0) {
            tensor = in[in_place_input];
          } else {
            ASSIGN_OR_RETURN(tensor, Tensor::Allocate(operand.type, operand.shape));
            if (operand.type != ElementType::kString && tensor.num_bytes() > 0) {
              std::memset(tensor.view().data, 0xA5, tensor.num_bytes());
            }
          }
        }
      }
      types.push_back(operand.type);
      spec.outputs.push_back(operand);
      out.push_back(std::move(tensor));
    }
    if (def->reference == nullptr) {
      return absl::UnimplementedError(absl::StrCat(wanted, " has no reference kernel"));
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, def->reference(spec));
    TestContext context(in, out, def->dynamic_outputs, *kernel, run_threads);
    context.SetOutputTypes(std::move(types));
    RETURN_IF_ERROR(kernel->Run(context));
    for (int i = 0; i < num_outputs; ++i) {
      if (node.output(i) != nullptr && !out[i].defined()) {
        return absl::InternalError(absl::StrCat("output ", i, " was not allocated"));
      }
    }
    return out;
  }
};

OpTester::OpTester(absl::string_view op, absl::string_view domain)
    : impl_(std::make_unique<Impl>()) {
  impl_->wanted = std::string(op.data(), op.size());
  impl_->def = OpRegistry::Global().Find(domain, op);
}
OpTester::OpTester(OpTester&&) noexcept = default;
OpTester::~OpTester() = default;

OpTester& OpTester::Attr(std::string name, AttributeValue value) {
  impl_->attributes.Set(std::move(name), std::move(value));
  return *this;
}
OpTester& OpTester::Input(Tensor tensor) {
  impl_->inputs.push_back({std::move(tensor), false});
  return *this;
}
OpTester& OpTester::Constant(Tensor tensor) {
  impl_->inputs.push_back({std::move(tensor), true});
  return *this;
}
OpTester& OpTester::NoInput() {
  impl_->inputs.push_back({});
  return *this;
}
OpTester& OpTester::Outputs(int count, std::initializer_list<int> absent) {
  impl_->num_outputs = count;
  impl_->absent_outputs = absent;
  return *this;
}
OpTester& OpTester::Threads(int threads) {
  impl_->threads = threads;
  return *this;
}

absl::StatusOr<std::vector<Tensor>> OpTester::Run() const {
  ASSIGN_OR_RETURN(const Impl::BuiltNode built, impl_->Build(impl_->RealTypes(), true));
  RETURN_IF_ERROR(impl_->CheckVagueInference(impl_->OutputTypes(built)));
  ASSIGN_OR_RETURN(std::vector<Tensor> result, impl_->RunOnce(built, 1, -1));
  if (!impl_->def->is_deterministic) return result;

  ASSIGN_OR_RETURN(std::vector<Tensor> threaded, impl_->RunOnce(built, impl_->threads, -1));
  for (size_t i = 0; i < result.size(); ++i) {
    if (!SameBits(result[i], threaded[i])) {
      return absl::InternalError(
          absl::StrCat("output ", i, " differs between 1 and ", impl_->threads, " threads"));
    }
  }
  for (int i : impl_->def->in_place_inputs) {
    if (i >= static_cast<int>(impl_->inputs.size())) continue;
    const Tensor& in = impl_->inputs[i].tensor;
    if (!in.defined() || !result[0].defined() || in.type() != result[0].type() ||
        in.shape() != result[0].shape()) {
      continue;
    }
    ASSIGN_OR_RETURN(std::vector<Tensor> in_place, impl_->RunOnce(built, 1, i));
    for (size_t k = 0; k < result.size(); ++k) {
      if (!SameBits(result[k], in_place[k])) {
        return absl::InternalError(
            absl::StrCat("output ", k, " differs when computed in place of input ", i));
      }
    }
  }
  return result;
}

absl::StatusOr<Tensor> OpTester::Run1() const {
  ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Run());
  return outputs[0];
}

absl::StatusOr<std::vector<ValueType>> OpTester::Infer(absl::Span<const ValueType> types) const {
  if (types.size() != impl_->inputs.size()) {
    return absl::InvalidArgumentError("Infer needs one type per input");
  }
  ASSIGN_OR_RETURN(const Impl::BuiltNode built, impl_->Build(types, false));
  return impl_->OutputTypes(built);
}

absl::StatusOr<std::vector<ValueType>> OpTester::Infer() const {
  ASSIGN_OR_RETURN(const Impl::BuiltNode built, impl_->Build(impl_->RealTypes(), true));
  return impl_->OutputTypes(built);
}

Tensor RandomFloats(const Shape& shape, uint64_t seed, float low, float high) {
  std::vector<float> values(shape.NumElements());
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (float& v : values) {
    // xorshift64* (S. Vigna, "An experimental exploration of Marsaglia's xorshift generators").
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    const uint64_t bits = state * 0x2545F4914F6CDD1Du;
    v = low + (high - low) * static_cast<float>(bits >> 40) * 0x1p-24f;
  }
  return Tensor::FromValues<float>(shape, absl::Span<const float>(values));
}

Tensor MakeRaw(ElementType type, Shape shape, std::initializer_list<uint8_t> bytes) {
  Tensor tensor = Tensor::Allocate(type, shape).value();
  EXPECT_EQ(tensor.num_bytes(), static_cast<int64_t>(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(tensor.view().data));
  return tensor;
}

namespace {

template <typename T>
std::string Print(const T& v) {
  if constexpr (std::is_same_v<T, std::string>) {
    return v;
  } else if constexpr (std::is_same_v<T, bool>) {
    return v ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return absl::StrCat(static_cast<int64_t>(v));
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return absl::StrCat(v.real(), "+", v.imag(), "i");
  } else {
    return absl::StrCat(static_cast<double>(v));
  }
}

template <typename T>
bool Close(const T& actual, const T& expected, double atol, double rtol) {
  if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool>) {
    return actual == expected;
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    return std::abs(actual - expected) <= atol + rtol * std::abs(expected);
  } else {
    const bool integer = std::is_integral_v<T>;
    if (integer && actual == expected) return true;
    const double a = static_cast<double>(actual), e = static_cast<double>(expected);
    if (std::isnan(a) || std::isnan(e)) return std::isnan(a) && std::isnan(e);
    if (std::isinf(a) || std::isinf(e)) return a == e;
    if (!integer && a == e) return true;
    return (atol > 0 || rtol > 0) && std::abs(a - e) <= atol + rtol * std::abs(e);
  }
}

}  // namespace

::testing::AssertionResult TensorsClose(const Tensor& actual, const Tensor& expected, double atol,
                                        double rtol) {
  const auto describe = [](const Tensor& t) {
    return absl::StrCat(ElementTypeName(t.type()), t.shape().ToString());
  };
  if (actual.type() != expected.type() || actual.shape() != expected.shape()) {
    return ::testing::AssertionFailure()
           << "got " << describe(actual) << ", expected " << describe(expected);
  }
  std::string problem;
  const bool known =
      DispatchType<float, double, Float16, BFloat16, uint8_t, int8_t, uint16_t, int16_t, uint32_t,
                   int32_t, uint64_t, int64_t, bool, std::string, std::complex<float>,
                   std::complex<double>>(actual.type(), [&]<typename T>() {
        const T* a = actual.data<T>();
        const T* e = expected.data<T>();
        for (int64_t i = 0; i < actual.num_elements(); ++i) {
          if (!Close(a[i], e[i], atol, rtol)) {
            problem = absl::StrCat("element ", i, " of ", describe(actual), " is ", Print(a[i]),
                                   ", expected ", Print(e[i]));
            return;
          }
        }
      });
  if (!known && !SameBits(actual, expected)) {
    problem = absl::StrCat(describe(actual), " differs in its bytes:");
    for (int64_t i = 0; i < std::min<int64_t>(actual.num_bytes(), 32); ++i) {
      absl::StrAppend(&problem, " ", static_cast<uint8_t*>(actual.view().data)[i], "/",
                      static_cast<uint8_t*>(expected.view().data)[i]);
    }
  }
  if (!problem.empty()) return ::testing::AssertionFailure() << problem;
  return ::testing::AssertionSuccess();
}

}  // namespace inferd::engine
