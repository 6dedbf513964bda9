// LpNormalization: x divided by its L1 or L2 norm along an axis; where the norm is 0 the result
// is 0. MeanVarianceNormalization: (x - mean) / (standard deviation + 1e-9) over a set of axes.
#include <cmath>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/reduction.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

// Applies Fn to every set of elements that a reduction would fold into one.
template <typename T, typename Fn>
class GroupwiseKernel final : public Kernel {
 public:
  GroupwiseKernel(ReductionPlan plan, Fn fn) : plan_(std::move(plan)), fn_(fn) {}

  absl::Status Run(KernelContext& context) const override {
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    const int64_t grain =
        std::max<int64_t>(1, kElementwiseGrain / std::max<int64_t>(1, plan_.count));
    context.threads().ParallelFor(plan_.outputs, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t base = plan_.Offset(i);
        fn_(plan_, x + base, y + base);
      }
    });
    return absl::OkStatus();
  }

 private:
  ReductionPlan plan_;
  Fn fn_;
};

template <typename Fn>
KernelOr GroupwiseKernelFor(const NodeSpec& spec, ReductionPlan plan, Fn fn) {
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
        kernel = std::make_unique<GroupwiseKernel<T, Fn>>(std::move(plan), fn);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

struct LpNormalize {
  bool l1;
  template <typename T>
  void operator()(const ReductionPlan& plan, const T* x, T* y) const {
    using Compute = ComputeType<T>;
    double norm = 0;
    ForEachReducedRow(plan, 0, [&](int64_t i) {
      const double v = static_cast<Compute>(x[i]);
      norm += l1 ? std::abs(v) : v * v;
    });
    if (!l1) norm = std::sqrt(norm);
    ForEachReducedRow(plan, 0, [&](int64_t i) {
      const double v = static_cast<Compute>(x[i]);
      y[i] = static_cast<T>(static_cast<Compute>(norm == 0 ? 0 : v / norm));
    });
  }
};

struct MeanVarianceNormalize {
  template <typename T>
  void operator()(const ReductionPlan& plan, const T* x, T* y) const {
    using Compute = ComputeType<T>;
    const double count = static_cast<double>(plan.count);
    double mean = 0, square = 0;
    ForEachReducedRow(plan, 0, [&](int64_t i) { mean += static_cast<Compute>(x[i]); });
    mean /= count;
    ForEachReducedRow(plan, 0, [&](int64_t i) {
      const double d = static_cast<Compute>(x[i]) - mean;
      square += d * d;
    });
    const double factor = 1 / (std::sqrt(square / count) + 1e-9);
    ForEachReducedRow(plan, 0, [&](int64_t i) {
      const double v = static_cast<Compute>(x[i]);
      y[i] = static_cast<T>(static_cast<Compute>((v - mean) * factor));
    });
  }
};

absl::Status InferLpNormalization(InferenceContext& context) {
  const int64_t p = context.attributes().GetInt("p", 2);
  if (p != 1 && p != 2) {
    return absl::InvalidArgumentError(absl::StrCat("attribute p is ", p, ", expected 1 or 2"));
  }
  if (context.shape(0).has_rank()) RETURN_IF_ERROR(AxisAttribute(context, -1).status());
  return InferSameAsInput(context);
}

KernelOr LpNormalizationReference(const NodeSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(spec.attributes().GetInt("axis", -1), shape.rank()));
  absl::InlinedVector<bool, 8> reduced(shape.rank(), false);
  reduced[axis] = true;
  return GroupwiseKernelFor(spec, PlanReduction(shape, reduced),
                            LpNormalize{spec.attributes().GetInt("p", 2) == 1});
}

std::vector<int64_t> MvnAxes(const Attributes& attributes) {
  return attributes.has("axes") ? attributes.GetInts("axes") : std::vector<int64_t>{0, 2, 3};
}

absl::Status InferMeanVarianceNormalization(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  for (int64_t axis : MvnAxes(context.attributes())) {
    if (x.has_rank() && (axis < -x.rank() || axis >= x.rank())) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute axes holds ", axis, ", but input 0 has shape ", x.ToString()));
    }
  }
  return InferSameAsInput(context);
}

KernelOr MeanVarianceNormalizationReference(const NodeSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  absl::InlinedVector<bool, 8> reduced(shape.rank(), false);
  for (int64_t axis : MvnAxes(spec.attributes())) {
    ASSIGN_OR_RETURN(const int d, NormalizeAxis(axis, shape.rank()));
    reduced[d] = true;
  }
  return GroupwiseKernelFor(spec, PlanReduction(shape, reduced), MeanVarianceNormalize{});
}

OpDef Normalization(const char* name, int version, InferFn infer, ReferenceFn reference) {
  OpDef def;
  def.name = name;
  def.version = version;
  def.inputs = {RequiredParameter("input", "T", type_sets::kFloats)};
  def.outputs = {RequiredParameter("output", "T", type_sets::kFloats)};
  def.infer = infer;
  def.reference = reference;
  def.in_place_inputs = {0};
  return def;
}

}  // namespace

void RegisterLpNormalizationOps(OpRegistry& registry) {
  OpDef lp = Normalization("LpNormalization", 22, InferLpNormalization, LpNormalizationReference);
  lp.attributes = {{"axis", AttributeSpec::Kind::kInt}, {"p", AttributeSpec::Kind::kInt}};
  registry.Register(std::move(lp));
  OpDef mvn = Normalization("MeanVarianceNormalization", 13, InferMeanVarianceNormalization,
                            MeanVarianceNormalizationReference);
  mvn.oldest_version = 9;
  mvn.attributes = {{"axes", AttributeSpec::Kind::kInts}};
  registry.Register(std::move(mvn));
}

}  // namespace inferd::engine
