// LayerNormalization, RMSNormalization and SimplifiedLayerNormalization, ONNX Runtime's name of the
// latter from before the standard had it: over the dimensions from `axis` on.
//   https://arxiv.org/abs/1607.06450, https://arxiv.org/abs/1910.07467
// Statistics are accumulated in double whatever stash_type says, which only asks for less.
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/broadcast.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

// An operand that must broadcast to input 0 without enlarging it.
absl::Status ExpectBroadcastsToInput(const InferenceContext& context, int input) {
  const SymbolicShape& x = context.shape(0);
  const SymbolicShape& operand = context.shape(input);
  if (!x.has_rank() || !operand.has_rank()) return absl::OkStatus();
  bool fits = operand.rank() <= x.rank();
  for (int i = 1; fits && i <= operand.rank(); ++i) {
    const Dim& d = operand[operand.rank() - i];
    const Dim& dx = x[x.rank() - i];
    fits = !d.known() || d.value() == 1 || !dx.known() || d.value() == dx.value();
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", input, " of shape ", operand.ToString(),
                                                 " does not broadcast to input 0 of shape ",
                                                 x.ToString()));
}

absl::StatusOr<ElementType> StashType(const Attributes& attributes) {
  const int64_t code = attributes.GetInt("stash_type", 1);
  for (ElementType type : {ElementType::kFloat32, ElementType::kBfloat16, ElementType::kFloat16,
                           ElementType::kFloat64}) {
    if (code == static_cast<int64_t>(type)) return type;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("attribute stash_type is ", code,
                   ", expected the number of a floating-point type such as 1 (float) or 16 "
                   "(bfloat16)"));
}

absl::Status InferLayerNormalization(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ElementType stash, StashType(context.attributes()));
  const SymbolicShape& x = context.shape(0);
  SymbolicShape statistics;
  if (x.has_rank()) {
    ASSIGN_OR_RETURN(const int axis, AxisAttribute(context, -1));
    RETURN_IF_ERROR(ExpectBroadcastsToInput(context, 1));
    if (context.has_input(2)) RETURN_IF_ERROR(ExpectBroadcastsToInput(context, 2));
    std::vector<Dim> dims = x.dims();
    for (int d = axis; d < x.rank(); ++d) dims[d] = Dim(1);
    statistics = SymbolicShape(std::move(dims));
  }
  context.SetOutput(0, context.input_type(0));
  if (context.node().output(1) != nullptr) context.SetOutput(1, stash, statistics);
  if (context.node().output(2) != nullptr) context.SetOutput(2, stash, statistics);
  return absl::OkStatus();
}

absl::Status InferRmsNormalization(InferenceContext& context) {
  RETURN_IF_ERROR(StashType(context.attributes()).status());
  if (context.shape(0).has_rank()) {
    RETURN_IF_ERROR(AxisAttribute(context, -1).status());
    RETURN_IF_ERROR(ExpectBroadcastsToInput(context, 1));
  }
  context.SetOutput(0, context.element_type(1), context.shape(0));
  if (context.node().output(1) != nullptr) {
    SymbolicShape statistic = context.shape(0);
    if (statistic.has_rank()) {
      ASSIGN_OR_RETURN(const int axis, AxisAttribute(context, -1));
      for (int d = axis; d < statistic.rank(); ++d) statistic[d] = Dim(1);
    }
    ASSIGN_OR_RETURN(const ElementType stash, StashType(context.attributes()));
    context.SetOutput(1, stash, statistic);
  }
  return absl::OkStatus();
}

void StoreStatistic(const TensorView& output, int64_t index, double value) {
  DispatchType<float, double, Float16, BFloat16>(output.type, [&]<typename T>() {
    output.as<T>()[index] = static_cast<T>(static_cast<ComputeType<T>>(value));
  });
}

// X holds T; scale, bias and Y hold V. Centred: LayerNormalization, otherwise RMS.
template <typename T, typename V, bool centred>
class RowNormalizationKernel final : public Kernel {
 public:
  RowNormalizationKernel(const NodeSpec& spec, int axis)
      : rows_(spec.input(0).shape.Product(0, axis)),
        length_(spec.input(0).shape.Product(axis, spec.input(0).shape.rank())),
        epsilon_(spec.attributes().GetFloat("epsilon", 1e-5f)) {
    const Shape scalar;
    plan_ = PlanBroadcast<2>(
        spec.input(0).shape,
        {&spec.input(1).shape, spec.has_input(2) ? &spec.input(2).shape : &scalar});
  }

  absl::Status Run(KernelContext& context) const override {
    const int64_t grain = std::max<int64_t>(1, kElementwiseGrain / std::max<int64_t>(1, length_));
    context.threads().ParallelFor(rows_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) Row(context, r);
    });
    return absl::OkStatus();
  }

 private:
  using X = ComputeType<T>;
  using Y = ComputeType<V>;

  void Row(KernelContext& context, int64_t r) const {
    const T* x = context.input(0).as<T>() + r * length_;
    double mean = 0;
    if (centred) {
      for (int64_t i = 0; i < length_; ++i) mean += static_cast<double>(static_cast<X>(x[i]));
      mean /= static_cast<double>(length_);
    }
    double square = 0;
    for (int64_t i = 0; i < length_; ++i) {
      const double d = static_cast<double>(static_cast<X>(x[i])) - mean;
      square += d * d;
    }
    const double inverse = 1 / std::sqrt(square / static_cast<double>(length_) + epsilon_);

    const V* scale = context.input(1).as<V>();
    const V* bias = context.has_input(2) ? context.input(2).as<V>() : nullptr;
    V* y = context.output(0).as<V>();
    const T* all = context.input(0).as<T>();
    const int64_t scale_step = plan_.varies(0), bias_step = plan_.varies(1);
    ForEachRow(plan_, r * length_, (r + 1) * length_,
               [&](int64_t index, const std::array<int64_t, 2>& offsets, int64_t count) {
                 for (int64_t i = 0; i < count; ++i) {
                   const double v = static_cast<double>(static_cast<X>(all[index + i]));
                   Y out = static_cast<Y>((v - mean) * inverse) *
                           static_cast<Y>(scale[offsets[0] + i * scale_step]);
                   if (bias != nullptr) out += static_cast<Y>(bias[offsets[1] + i * bias_step]);
                   y[index + i] = static_cast<V>(out);
                 }
               });
    if (context.has_output(1)) StoreStatistic(context.output(1), r, centred ? mean : inverse);
    if (context.has_output(2)) StoreStatistic(context.output(2), r, inverse);
  }

  int64_t rows_;
  int64_t length_;
  double epsilon_;
  BroadcastPlan<2> plan_;
};

absl::StatusOr<int> AxisOf(const NodeSpec& spec) {
  return NormalizeAxis(spec.attributes().GetInt("axis", -1), spec.input(0).shape.rank());
}

KernelOr LayerNormalizationReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const int axis, AxisOf(spec));
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
        kernel = std::make_unique<RowNormalizationKernel<T, T, true>>(spec, axis);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

KernelOr RmsNormalizationReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const int axis, AxisOf(spec));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    DispatchType<float, double, Float16, BFloat16>(spec.input(1).type, [&]<typename V>() {
      kernel = std::make_unique<RowNormalizationKernel<T, V, false>>(spec, axis);
    });
  });
  if (kernel == nullptr) return UnsupportedType(spec, spec.input(0).type);
  return kernel;
}

}  // namespace

void RegisterLayerNormalizationOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  using type_sets::kFloats;
  OpDef layer;
  layer.name = "LayerNormalization";
  layer.version = 17;
  layer.oldest_version = 17;
  layer.inputs = {RequiredParameter("X", "T", kFloats), RequiredParameter("Scale", "T", kFloats),
                  OptionalParameter("B", "T", kFloats)};
  layer.outputs = {RequiredParameter("Y", "T", kFloats), OptionalParameter("Mean", "U", kFloats),
                   OptionalParameter("InvStdDev", "U", kFloats)};
  layer.attributes = {{"axis", Kind::kInt}, {"epsilon", Kind::kFloat}, {"stash_type", Kind::kInt}};
  layer.infer = InferLayerNormalization;
  layer.reference = LayerNormalizationReference;
  layer.in_place_inputs = {0};
  registry.Register(std::move(layer));

  OpDef rms;
  rms.name = "RMSNormalization";
  rms.version = 23;
  rms.oldest_version = 23;
  rms.inputs = {RequiredParameter("X", "T", kFloats), RequiredParameter("scale", "V", kFloats)};
  rms.outputs = {RequiredParameter("Y", "V", kFloats)};
  rms.attributes = {{"axis", Kind::kInt}, {"epsilon", Kind::kFloat}, {"stash_type", Kind::kInt}};
  rms.infer = InferRmsNormalization;
  rms.reference = RmsNormalizationReference;
  rms.in_place_inputs = {0};
  OpDef simplified = rms;
  registry.Register(std::move(rms));

  simplified.name = "SimplifiedLayerNormalization";
  simplified.version = 1;
  simplified.oldest_version = 1;
  simplified.outputs.push_back(OptionalParameter("inv_std_var", "U", kFloats));
  registry.Register(std::move(simplified));
}

}  // namespace inferd::engine
