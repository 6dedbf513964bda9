// CumSum and CumProd along an axis given by an input. Floating-point totals are kept in double.
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Where the axis lies in [-rank, rank); a scalar has the axes 0 and -1 of one element.
absl::Status CheckAxis(int64_t axis, int rank) {
  const int effective = std::max(rank, 1);
  if (axis >= -effective && axis < effective) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "input 1 (axis) is ", axis, ", expected a value in [", -effective, ", ", effective, ")"));
}

absl::Status InferCumulative(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectScalar(context, 1));
  ASSIGN_OR_RETURN(const auto axis, ConstantInts(context, 1));
  if (axis.has_value() && axis->size() == 1 && context.shape(0).has_rank()) {
    RETURN_IF_ERROR(CheckAxis((*axis)[0], context.shape(0).rank()));
  }
  return InferSameAsInput(context);
}

template <typename T, typename Fn, int start>
class CumulativeKernel final : public Kernel {
 public:
  explicit CumulativeKernel(const Attributes& attributes)
      : exclusive_(attributes.GetInt("exclusive", 0) != 0),
        reverse_(attributes.GetInt("reverse", 0) != 0) {}

  absl::Status Run(KernelContext& context) const override {
    const TensorView& axis_view = context.input(1);
    int64_t axis =
        axis_view.type == ElementType::kInt32 ? *axis_view.as<int32_t>() : *axis_view.as<int64_t>();
    const Shape& shape = context.input(0).shape;
    RETURN_IF_ERROR(CheckAxis(axis, shape.rank()));
    if (axis < 0) axis += std::max(shape.rank(), 1);
    const bool scalar = shape.rank() == 0;
    const int64_t outer = scalar ? 1 : shape.Product(0, static_cast<int>(axis));
    const int64_t extent = scalar ? 1 : shape[static_cast<int>(axis)];
    const int64_t inner = scalar ? 1 : shape.Product(static_cast<int>(axis) + 1, shape.rank());
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    const int64_t grain = std::max<int64_t>(1, kElementwiseGrain / std::max<int64_t>(1, extent));
    context.threads().ParallelFor(outer * inner, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / inner * extent * inner + i % inner;
        Line(x + first, y + first, extent, inner);
      }
    });
    return absl::OkStatus();
  }

 private:
  using Compute = ComputeType<T>;
  using Total = std::conditional_t<std::is_floating_point_v<Compute>, double, T>;

  void Line(const T* x, T* y, int64_t extent, int64_t stride) const {
    Total total = start;
    for (int64_t k = 0; k < extent; ++k) {
      const int64_t i = (reverse_ ? extent - 1 - k : k) * stride;
      const Total before = total;
      total = Fn{}(total, static_cast<Total>(static_cast<Compute>(x[i])));
      y[i] = static_cast<T>(static_cast<Compute>(exclusive_ ? before : total));
    }
  }

  bool exclusive_;
  bool reverse_;
};

template <typename Fn, int start>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16, int32_t, int64_t, uint32_t, uint64_t>(
          type, [&]<typename T>() {
            kernel = std::make_unique<CumulativeKernel<T, Fn, start>>(spec.attributes());
          })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

OpDef Cumulative(const char* name, int version, ReferenceFn reference) {
  const ElementTypeSet types =
      type_sets::kFloats | ElementTypeSet{ElementType::kInt32, ElementType::kInt64,
                                          ElementType::kUint32, ElementType::kUint64};
  OpDef def;
  def.name = name;
  def.version = version;
  def.inputs = {RequiredParameter("x", "T", types),
                RequiredParameter("axis", "T2", {ElementType::kInt32, ElementType::kInt64})};
  def.outputs = {RequiredParameter("y", "T", types)};
  def.attributes = {{"exclusive", AttributeSpec::Kind::kInt},
                    {"reverse", AttributeSpec::Kind::kInt}};
  def.infer = InferCumulative;
  def.reference = reference;
  def.in_place_inputs = {0};
  return def;
}

}  // namespace

void RegisterCumulativeOps(OpRegistry& registry) {
  OpDef sum = Cumulative("CumSum", 14, Reference<scalar::Add, 0>);
  sum.oldest_version = 11;
  registry.Register(std::move(sum));
  OpDef product = Cumulative("CumProd", 26, Reference<scalar::Mul, 1>);
  product.oldest_version = 26;
  registry.Register(std::move(product));
}

}  // namespace inferd::engine
