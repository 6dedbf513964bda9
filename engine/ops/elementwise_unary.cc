// Unary elementwise mathematics and logic without attributes:
//   Abs Neg Sign Ceil Floor Round Sqrt Reciprocal Exp Log Erf Not BitwiseNot
//   IsNaN IsInf
// (trigonometric.cc and activation.cc hold the rest).
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/since.h"
#include "engine/tensor/low_precision.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

template <typename Fn>
KernelOr FloatReference(const NodeSpec& spec) {
  return UnaryKernelFor<void, Fn, float, double, Float16, BFloat16>(spec, Fn{});
}
template <typename Fn>
KernelOr SignedReference(const NodeSpec& spec) {
  return UnaryKernelFor<void, Fn, float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                        int64_t>(spec, Fn{});
}
template <typename Fn>
KernelOr NumericReference(const NodeSpec& spec) {
  return UnaryKernelFor<void, Fn, float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                        int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(spec, Fn{});
}

// IsNaN and IsInf also take 8-bit floats: a table of 256 answers.
template <typename Fn>
KernelOr ClassifyReference(const NodeSpec& spec, Fn fn) {
  const ElementType type = spec.input(0).type;
  if (type_sets::kFloat8s.contains(type)) {
    std::array<bool, 256> answers;
    for (int code = 0; code < 256; ++code) {
      answers[code] = fn(LowPrecisionToFloat(type, static_cast<uint8_t>(code)));
    }
    return MakeKernel([answers, n = spec.output(0).shape.NumElements()](KernelContext& context) {
      const auto* x = static_cast<const uint8_t*>(context.input(0).data);
      bool* y = context.output(0).as<bool>();
      for (int64_t i = 0; i < n; ++i) y[i] = answers[x[i]];
      return absl::OkStatus();
    });
  }
  return UnaryKernelFor<bool, Fn, float, double, Float16, BFloat16>(spec, fn);
}

KernelOr IsNanReference(const NodeSpec& spec) { return ClassifyReference(spec, scalar::IsNan{}); }

KernelOr IsInfReference(const NodeSpec& spec) {
  scalar::IsInf fn;
  fn.positive = spec.attributes().GetInt("detect_positive", 1) != 0;
  fn.negative = spec.attributes().GetInt("detect_negative", 1) != 0;
  return ClassifyReference(spec, fn);
}

KernelOr NotReference(const NodeSpec& spec) {
  return UnaryKernelFor<void, scalar::Not, bool>(spec, scalar::Not{});
}

KernelOr BitwiseNotReference(const NodeSpec& spec) {
  return UnaryKernelFor<void, scalar::BitwiseNot, int8_t, int16_t, int32_t, int64_t, uint8_t,
                        uint16_t, uint32_t, uint64_t>(spec, scalar::BitwiseNot{});
}

OpDef Unary(const char* name, int version, ElementTypeSet types, ReferenceFn reference) {
  OpDef def;
  def.name = name;
  def.version = version;
  def.inputs = {RequiredParameter("X", "T", types)};
  def.outputs = {RequiredParameter("Y", "T", types)};
  def.infer = InferSameAsInput;
  def.reference = reference;
  def.in_place_inputs = {0};
  def.is_elementwise = true;
  return def;
}

OpDef Classification(const char* name, int version, ReferenceFn reference) {
  OpDef def = Unary(name, version, type_sets::kFloats | type_sets::kFloat8s, reference);
  def.outputs = {RequiredParameter("Y", "", {ElementType::kBool})};
  def.infer = InferSameShapeBool;
  def.in_place_inputs = {};
  return def;
}

}  // namespace

void RegisterElementwiseUnaryOps(OpRegistry& registry) {
  using namespace type_sets;  // NOLINT: the names of sets, nothing else
  registry.Register(Unary("Abs", 13, kNumeric, NumericReference<scalar::Abs>));
  registry.Register(Unary("Neg", 13, kFloats | kSigned, SignedReference<scalar::Neg>));
  registry.Register(Since(9, Unary("Sign", 13, kNumeric, NumericReference<scalar::Sign>)));
  registry.Register(Unary("Ceil", 13, kFloats, FloatReference<scalar::Ceil>));
  registry.Register(Unary("Floor", 13, kFloats, FloatReference<scalar::Floor>));
  registry.Register(Since(11, Unary("Round", 22, kFloats, FloatReference<scalar::Round>)));
  registry.Register(Unary("Sqrt", 13, kFloats, FloatReference<scalar::Sqrt>));
  registry.Register(Unary("Reciprocal", 13, kFloats, FloatReference<scalar::Reciprocal>));
  registry.Register(Unary("Exp", 13, kFloats, FloatReference<scalar::Exp>));
  registry.Register(Unary("Log", 13, kFloats, FloatReference<scalar::Log>));
  registry.Register(Since(9, Unary("Erf", 13, kFloats, FloatReference<scalar::Erf>)));
  registry.Register(Unary("Not", 1, {ElementType::kBool}, NotReference));
  registry.Register(Since(18, Unary("BitwiseNot", 18, kIntegers, BitwiseNotReference)));

  registry.Register(Since(9, Classification("IsNaN", 20, IsNanReference)));
  OpDef is_inf = Since(10, Classification("IsInf", 20, IsInfReference));
  is_inf.attributes = {{"detect_negative", AttributeSpec::Kind::kInt},
                       {"detect_positive", AttributeSpec::Kind::kInt}};
  registry.Register(std::move(is_inf));
}

}  // namespace inferd::engine
