// Activation functions:
//   Relu LeakyRelu ThresholdedRelu Elu Celu Selu Sigmoid HardSigmoid HardSwish Softplus Softsign
//   Mish Swish Gelu
#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/since.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

template <typename Fn>
KernelOr FloatKernel(const NodeSpec& spec, Fn fn) {
  return UnaryKernelFor<void, Fn, float, double, Float16, BFloat16>(spec, fn);
}

template <typename Fn>
KernelOr Plain(const NodeSpec& spec) {
  return FloatKernel(spec, Fn{});
}

// Functors whose only parameter is alpha.
template <typename Fn>
KernelOr WithAlpha(const NodeSpec& spec) {
  Fn fn;
  fn.alpha = spec.attributes().GetFloat("alpha", fn.alpha);
  return FloatKernel(spec, fn);
}

KernelOr ReluReference(const NodeSpec& spec) {
  return UnaryKernelFor<void, scalar::Relu, float, double, Float16, BFloat16, int8_t, int16_t,
                        int32_t, int64_t>(spec, scalar::Relu{});
}

KernelOr SeluReference(const NodeSpec& spec) {
  scalar::Selu fn;
  fn.alpha = spec.attributes().GetFloat("alpha", fn.alpha);
  fn.gamma = spec.attributes().GetFloat("gamma", fn.gamma);
  return FloatKernel(spec, fn);
}

KernelOr HardSigmoidReference(const NodeSpec& spec) {
  scalar::HardSigmoid fn;
  fn.alpha = spec.attributes().GetFloat("alpha", fn.alpha);
  fn.beta = spec.attributes().GetFloat("beta", fn.beta);
  return FloatKernel(spec, fn);
}

KernelOr GeluReference(const NodeSpec& spec) {
  if (spec.attributes().GetString("approximate", "none") == "tanh") {
    return FloatKernel(spec, scalar::GeluTanh{});
  }
  return FloatKernel(spec, scalar::GeluErf{});
}

absl::Status InferGelu(InferenceContext& context) {
  const std::string approximate = context.attributes().GetString("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return absl::InvalidArgumentError(absl::StrCat("attribute approximate is \"", approximate,
                                                   "\", expected \"none\" or \"tanh\""));
  }
  return InferSameAsInput(context);
}

absl::Status InferCelu(InferenceContext& context) {
  if (context.attributes().GetFloat("alpha", 1) == 0) {
    return absl::InvalidArgumentError("attribute alpha is 0, expected a number other than 0");
  }
  return InferSameAsInput(context);
}

OpDef Activation(const char* name, int version, ReferenceFn reference,
                 std::initializer_list<const char*> float_attributes = {},
                 ElementTypeSet types = type_sets::kFloats) {
  OpDef def;
  def.name = name;
  def.version = version;
  def.inputs = {RequiredParameter("X", "T", types)};
  def.outputs = {RequiredParameter("Y", "T", types)};
  for (const char* attribute : float_attributes) {
    def.attributes.push_back({attribute, AttributeSpec::Kind::kFloat});
  }
  def.infer = InferSameAsInput;
  def.reference = reference;
  def.in_place_inputs = {0};
  def.is_elementwise = true;
  return def;
}

}  // namespace

void RegisterActivationOps(OpRegistry& registry) {
  registry.Register(
      Activation("Relu", 14, ReluReference, {}, type_sets::kFloats | type_sets::kSigned));
  registry.Register(Activation("LeakyRelu", 16, WithAlpha<scalar::LeakyRelu>, {"alpha"}));
  registry.Register(
      Since(10, Activation("ThresholdedRelu", 22, WithAlpha<scalar::ThresholdedRelu>, {"alpha"})));
  registry.Register(Activation("Elu", 22, WithAlpha<scalar::Elu>, {"alpha"}));
  OpDef celu = Since(12, Activation("Celu", 12, WithAlpha<scalar::Celu>, {"alpha"}));
  celu.infer = InferCelu;
  registry.Register(std::move(celu));
  registry.Register(Activation("Selu", 22, SeluReference, {"alpha", "gamma"}));
  registry.Register(Activation("Sigmoid", 13, Plain<scalar::Sigmoid>));
  registry.Register(Activation("HardSigmoid", 22, HardSigmoidReference, {"alpha", "beta"}));
  registry.Register(Since(14, Activation("HardSwish", 22, Plain<scalar::HardSwish>)));
  registry.Register(Activation("Softplus", 22, Plain<scalar::Softplus>));
  registry.Register(Activation("Softsign", 22, Plain<scalar::Softsign>));
  registry.Register(Since(18, Activation("Mish", 22, Plain<scalar::Mish>)));
  registry.Register(Since(24, Activation("Swish", 24, WithAlpha<scalar::Swish>, {"alpha"})));
  OpDef gelu = Since(20, Activation("Gelu", 20, GeluReference));
  gelu.attributes = {{"approximate", AttributeSpec::Kind::kString}};
  gelu.infer = InferGelu;
  registry.Register(std::move(gelu));
}

}  // namespace inferd::engine
