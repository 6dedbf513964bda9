#include "engine/ops/fused_ops.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/fused_activation.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Passes fuse float32 alone: other types run as separate nodes.
constexpr ElementTypeSet kFused = {ElementType::kFloat32};

// The context of a fused node as its inner operator sees it: fewer inputs, another output.
class InnerContext final : public KernelContext {
 public:
  InnerContext(KernelContext& outer, int inputs, const TensorView& output, void* workspace)
      : outer_(outer), inputs_(inputs), output_(output), workspace_(workspace) {}

  const TensorView& input(int i) const override { return i < inputs_ ? outer_.input(i) : absent_; }
  const TensorView& output(int i) const override { return i == 0 ? output_ : absent_; }
  bool has_input(int i) const override { return i < inputs_ && outer_.has_input(i); }
  bool has_output(int i) const override { return i == 0; }
  int num_inputs() const override { return std::min(inputs_, outer_.num_inputs()); }
  int num_outputs() const override { return 1; }
  void* workspace() const override { return workspace_; }
  Stream& stream() const override { return outer_.stream(); }
  absl::StatusOr<TensorView> AllocateOutput(int i, const Shape& shape) override {
    return outer_.AllocateOutput(i, shape);
  }

 private:
  KernelContext& outer_;
  int inputs_;
  TensorView output_;
  void* workspace_;
  TensorView absent_;
};

size_t AlignUp(size_t bytes) { return (bytes + kBufferAlignment - 1) & ~(kBufferAlignment - 1); }

// The inner operator, then + Z or + bias, then the activations.
class ComposedKernel final : public Kernel {
 public:
  enum class Addend : uint8_t { kNone, kSameShape, kLastAxis };

  ComposedKernel(std::unique_ptr<Kernel> inner, int inner_inputs, Addend addend, int addend_input,
                 ActivationChain activations, const Shape& output)
      : inner_(std::move(inner)),
        inner_inputs_(inner_inputs),
        addend_(addend),
        addend_input_(addend_input),
        activations_(std::move(activations)),
        output_bytes_(AlignUp(output.NumElements() * sizeof(float))),
        last_(output.rank() == 0 ? 1 : output[output.rank() - 1]) {}

  // The inner result goes to the workspace where Z may share memory with the output.
  size_t workspace_bytes() const override {
    return (addend_ == Addend::kSameShape ? output_bytes_ : 0) + inner_->workspace_bytes();
  }

  absl::Status Run(KernelContext& context) const override {
    TensorView inner_output = context.output(0);
    char* workspace = static_cast<char*>(context.workspace());
    if (addend_ == Addend::kSameShape) {
      inner_output.data = workspace;
      workspace += output_bytes_;
    }
    InnerContext inner(context, inner_inputs_, inner_output, workspace);
    RETURN_IF_ERROR(inner_->Run(inner));
    const float* from = inner_output.as<float>();
    float* y = context.output(0).as<float>();
    const int64_t n = context.output(0).num_elements();
    const float* addend =
        addend_ == Addend::kNone ? nullptr : context.input(addend_input_).as<float>();
    for (int64_t i = 0; i < n; ++i) {
      float v = from[i];
      if (addend_ == Addend::kSameShape) v += addend[i];
      if (addend_ == Addend::kLastAxis) v += addend[i % last_];
      y[i] = ApplyAll(activations_, v);
    }
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<Kernel> inner_;
  int inner_inputs_;
  Addend addend_;
  int addend_input_;
  ActivationChain activations_;
  size_t output_bytes_;
  int64_t last_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Compose(const NodeSpec& spec, absl::string_view inner_op,
                                                int inner_inputs, ComposedKernel::Addend addend) {
  ASSIGN_OR_RETURN(ActivationChain activations, ReadActivations(spec.attributes()));
  if (!spec.has_input(inner_inputs)) addend = ComposedKernel::Addend::kNone;
  NodeSpec inner_spec = spec;
  if (inner_spec.inputs.size() > inner_inputs) inner_spec.inputs.resize(inner_inputs);
  ASSIGN_OR_RETURN(auto inner, OpRegistry::Global().Get(inner_op).reference(inner_spec));
  return std::make_unique<ComposedKernel>(std::move(inner), inner_inputs, addend, inner_inputs,
                                          std::move(activations), spec.output(0).shape);
}

absl::StatusOr<std::unique_ptr<Kernel>> FusedConvReference(const NodeSpec& spec) {
  return Compose(spec, "Conv", 3, ComposedKernel::Addend::kSameShape);
}
absl::StatusOr<std::unique_ptr<Kernel>> FusedGemmReference(const NodeSpec& spec) {
  return Compose(spec, "Gemm", 3, ComposedKernel::Addend::kNone);
}
absl::StatusOr<std::unique_ptr<Kernel>> FusedMatMulReference(const NodeSpec& spec) {
  return Compose(spec, "MatMul", 2, ComposedKernel::Addend::kLastAxis);
}
absl::StatusOr<std::unique_ptr<Kernel>> FusedAddReference(const NodeSpec& spec) {
  return Compose(spec, "Add", 2, ComposedKernel::Addend::kNone);
}

absl::StatusOr<std::unique_ptr<Kernel>> ScaleShiftReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(ActivationChain activations, ReadActivations(spec.attributes()));
  const Shape& shape = spec.input(0).shape;
  if (shape.rank() < 2) {
    return absl::InvalidArgumentError("ScaleShift: X must have rank 2 or more, found shape " +
                                      shape.ToString());
  }
  const int64_t inner = shape.Product(2, shape.rank());
  const int64_t channels = shape[1];
  return MakeKernel([=](KernelContext& context) {
    const float* x = context.input(0).as<float>();
    const float* scale = context.input(1).as<float>();
    const float* shift = context.input(2).as<float>();
    float* y = context.output(0).as<float>();
    const int64_t n = context.output(0).num_elements();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t c = i / inner % channels;
      y[i] = ApplyAll(activations, x[i] * scale[c] + shift[c]);
    }
    return absl::OkStatus();
  });
}

// Passes a node's inference on and keeps what it said of output 0.
class ObservedInference final : public InferenceContext {
 public:
  explicit ObservedInference(InferenceContext& context) : context_(context) {}
  const Node& node() const override { return context_.node(); }
  const ValueType& input_type(int i) const override { return context_.input_type(i); }
  const Tensor* constant(int i) const override { return context_.constant(i); }
  using InferenceContext::SetOutput;
  void SetOutput(int i, ValueType type) override {
    output_ = type;
    context_.SetOutput(i, std::move(type));
  }
  const ValueType& output() const { return output_; }

 private:
  InferenceContext& context_;
  ValueType output_;
};

absl::Status InferFusedConv(InferenceContext& context) {
  ObservedInference observed(context);
  RETURN_IF_ERROR(OpRegistry::Global().Get("Conv").infer(observed));
  if (!context.has_input(3)) return absl::OkStatus();
  // Z was of the output's shape as far as the model said; the real input decides.
  const std::optional<Shape> expected = observed.output().shape.concrete();
  const std::optional<Shape> found = context.shape(3).concrete();
  if (expected.has_value() && found.has_value() && !(*expected == *found)) {
    return absl::InvalidArgumentError(absl::StrCat("residual Z has shape ", found->ToString(),
                                                   ", the convolution gives ",
                                                   expected->ToString()));
  }
  return absl::OkStatus();
}

// Shape inference of the inner operator: it reads the first inputs and the shared attributes only.
template <const char* kInner>
absl::Status InferAs(InferenceContext& context) {
  return OpRegistry::Global().Get(kInner).infer(context);
}
constexpr char kGemm[] = "Gemm";
constexpr char kMatMul[] = "MatMul";
constexpr char kAdd[] = "Add";

absl::Status InferScaleShift(InferenceContext& context) {
  context.SetOutput(0, context.input_type(0));
  return absl::OkStatus();
}

OpDef FusedDef(absl::string_view name, std::vector<FormalParameter> inputs, InferFn infer,
               ReferenceFn reference) {
  OpDef def;
  def.domain = kInferdDomain;
  def.name = name;
  def.inputs = std::move(inputs);
  def.outputs = {{"Y", "T", kFused}};
  def.attributes = {kActivationsAttribute, kActivationParamsAttribute};
  def.infer = infer;
  def.reference = reference;
  return def;
}

}  // namespace

void RegisterFusedOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr auto kOptional = FormalParameter::Option::kOptional;

  OpDef conv = FusedDef("FusedConv",
                        {{"X", "T", kFused},
                         {"W", "T", kFused},
                         {"B", "T", kFused, kOptional},
                         {"Z", "T", kFused, kOptional}},
                        InferFusedConv, FusedConvReference);
  for (AttributeSpec attribute : {AttributeSpec{"auto_pad", Kind::kString},
                                  {"dilations", Kind::kInts},
                                  {"group", Kind::kInt},
                                  {"kernel_shape", Kind::kInts},
                                  {"pads", Kind::kInts},
                                  {"strides", Kind::kInts}}) {
    conv.attributes.push_back(attribute);
  }
  conv.in_place_inputs = {3};
  registry.Register(std::move(conv));

  OpDef gemm =
      FusedDef("FusedGemm", {{"A", "T", kFused}, {"B", "T", kFused}, {"C", "T", kFused, kOptional}},
               InferAs<kGemm>, FusedGemmReference);
  for (AttributeSpec attribute : {AttributeSpec{"alpha", Kind::kFloat},
                                  {"beta", Kind::kFloat},
                                  {"transA", Kind::kInt},
                                  {"transB", Kind::kInt}}) {
    gemm.attributes.push_back(attribute);
  }
  registry.Register(std::move(gemm));

  registry.Register(FusedDef(
      "FusedMatMul", {{"A", "T", kFused}, {"B", "T", kFused}, {"bias", "T", kFused, kOptional}},
      InferAs<kMatMul>, FusedMatMulReference));

  OpDef add = FusedDef("FusedAdd", {{"A", "T", kFused}, {"B", "T", kFused}}, InferAs<kAdd>,
                       FusedAddReference);
  add.in_place_inputs = {0, 1};
  add.is_elementwise = true;
  registry.Register(std::move(add));

  OpDef scale_shift =
      FusedDef("ScaleShift", {{"X", "T", kFused}, {"scale", "T", kFused}, {"shift", "T", kFused}},
               InferScaleShift, ScaleShiftReference);
  scale_shift.in_place_inputs = {0};
  registry.Register(std::move(scale_shift));
}

}  // namespace inferd::engine
