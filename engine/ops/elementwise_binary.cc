// Binary arithmetic with broadcast: Add Sub Mul Div Mod Pow PRelu.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/broadcasting_op.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

template <typename Fn>
KernelOr NumericReference(const NodeSpec& spec) {
  return BinaryKernelFor<void, Fn, float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                         int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(spec, Fn{});
}

// Refuses a zero among the divisors, then runs the division.
class CheckedDivision final : public Kernel {
 public:
  CheckedDivision(std::unique_ptr<Kernel> division, absl::string_view op, int64_t elements)
      : division_(std::move(division)), op_(op), elements_(elements) {}

  absl::Status Run(KernelContext& context) const override {
    const TensorView& divisor = context.input(1);
    int64_t zero = -1;
    DispatchType<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(
        divisor.type, [&]<typename T>() {
          const auto values = divisor.span<T>();
          const auto found = std::find(values.begin(), values.end(), T{0});
          if (found != values.end()) zero = found - values.begin();
        });
    if (zero >= 0 && elements_ > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(op_, ": integer division by zero: input 1 is 0 at element ", zero));
    }
    return division_->Run(context);
  }

 private:
  std::unique_ptr<Kernel> division_;
  absl::string_view op_;
  int64_t elements_;
};

template <typename Fn>
KernelOr DivisionReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, NumericReference<Fn>(spec));
  if (type_sets::kFloats.contains(spec.input(0).type)) return kernel;
  return std::make_unique<CheckedDivision>(std::move(kernel), spec.op().name,
                                           spec.output(0).shape.NumElements());
}

KernelOr ModReference(const NodeSpec& spec) {
  return spec.attributes().GetInt("fmod", 0) != 0 ? DivisionReference<scalar::Fmod>(spec)
                                                  : DivisionReference<scalar::FloorMod>(spec);
}

template <typename Base>
KernelOr PowKernel(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(1).type;
  if (!DispatchType<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t>(type, [&]<typename Exponent>() {
        kernel = MakeBinaryKernel<Base, Exponent, Base>(spec, scalar::Pow{});
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

KernelOr PowReference(const NodeSpec& spec) {
  KernelOr kernel = UnsupportedType(spec, spec.input(0).type);
  DispatchType<float, double, Float16, BFloat16, int32_t, int64_t>(
      spec.input(0).type, [&]<typename Base>() { kernel = PowKernel<Base>(spec); });
  return kernel;
}

// The slope broadcasts to X, never the other way.
absl::Status InferPRelu(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  const SymbolicShape& slope = context.shape(1);
  ASSIGN_OR_RETURN(const SymbolicShape both, BroadcastSymbolicShapes(x, slope));
  if (both.has_rank()) {
    bool fits = both.rank() == x.rank();
    for (int i = 0; fits && i < x.rank(); ++i) {
      fits = !x[i].known() || !both[i].known() || x[i].value() == both[i].value();
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("input 1 (slope) of shape ", slope.ToString(),
                                                     " does not broadcast to input 0 of shape ",
                                                     x.ToString()));
    }
  }
  context.SetOutput(0, context.input_type(0));
  return absl::OkStatus();
}

KernelOr PReluReference(const NodeSpec& spec) {
  return BinaryKernelFor<void, scalar::PRelu, float, double, Float16, BFloat16, int32_t, int64_t,
                         uint32_t, uint64_t>(spec, scalar::PRelu{});
}

}  // namespace

void RegisterElementwiseBinaryOps(OpRegistry& registry) {
  using namespace type_sets;  // NOLINT: the names of sets, nothing else
  registry.Register(BinaryOp("Add", 14, kNumeric, NumericReference<scalar::Add>));
  registry.Register(BinaryOp("Sub", 14, kNumeric, NumericReference<scalar::Sub>));
  registry.Register(BinaryOp("Mul", 14, kNumeric, NumericReference<scalar::Mul>));
  registry.Register(BinaryOp("Div", 14, kNumeric, DivisionReference<scalar::Div>));

  OpDef mod = BinaryOp("Mod", 13, kNumeric, ModReference);
  mod.attributes = {{"fmod", AttributeSpec::Kind::kInt}};
  mod.oldest_version = 10;
  registry.Register(std::move(mod));

  const ElementTypeSet bases = kFloats | ElementTypeSet{ElementType::kInt32, ElementType::kInt64};
  OpDef pow = BinaryOp("Pow", 15, bases, PowReference);
  pow.inputs = {RequiredParameter("X", "T", bases), RequiredParameter("Y", "T1", kNumeric)};
  registry.Register(std::move(pow));

  const ElementTypeSet prelu_types =
      kFloats | ElementTypeSet{ElementType::kInt32, ElementType::kInt64, ElementType::kUint32,
                               ElementType::kUint64};
  OpDef prelu = BinaryOp("PRelu", 16, prelu_types, PReluReference);
  prelu.inputs = {RequiredParameter("X", "T", prelu_types),
                  RequiredParameter("slope", "T", prelu_types)};
  prelu.infer = InferPRelu;
  registry.Register(std::move(prelu));
}

}  // namespace inferd::engine
