// ArgMax and ArgMin: index of the extreme along one axis. Ties go to the first index, or to the
// last with select_last_index; NaN counts as more extreme than any number, as in NumPy.
#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferArgReduce(InferenceContext& context) {
  const bool keepdims = context.attributes().GetInt("keepdims", 1) != 0;
  const SymbolicShape& x = context.shape(0);
  if (!x.has_rank()) {
    context.SetOutput(0, ElementType::kInt64, SymbolicShape());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(ExpectRank(context, 0, 1));
  ASSIGN_OR_RETURN(const int axis, AxisAttribute(context, 0));
  if (x[axis].known() && x[axis].value() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 0 of shape ", x.ToString(), " has no element along axis ", axis));
  }
  std::vector<Dim> dims;
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis) {
      dims.push_back(x[d]);
    } else if (keepdims) {
      dims.push_back(Dim(1));
    }
  }
  context.SetOutput(0, ElementType::kInt64, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

// Whether a is strictly more extreme than b.
template <bool max, typename T>
bool Beats(T a, T b) {
  if (a != a) return b == b;
  return max ? a > b : a < b;
}

template <typename T, bool max>
std::unique_ptr<Kernel> ArgKernel(int64_t outer, int64_t extent, int64_t inner, bool last) {
  return MakeKernel([=](KernelContext& context) {
    using Compute = ComputeType<T>;
    const T* x = context.input(0).as<T>();
    int64_t* y = context.output(0).as<int64_t>();
    const int64_t grain = std::max<int64_t>(1, kElementwiseGrain / extent);
    context.threads().ParallelFor(outer * inner, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* column = x + i / inner * extent * inner + i % inner;
        int64_t best = 0;
        Compute best_value = static_cast<Compute>(column[0]);
        for (int64_t k = 1; k < extent; ++k) {
          const Compute v = static_cast<Compute>(column[k * inner]);
          if (Beats<max>(v, best_value) || (last && !Beats<max>(best_value, v))) {
            best = k;
            best_value = v;
          }
        }
        y[i] = best;
      }
    });
    return absl::OkStatus();
  });
}

template <bool max>
absl::StatusOr<std::unique_ptr<Kernel>> ArgReference(const NodeSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(spec.attributes().GetInt("axis", 0), shape.rank()));
  const bool last = spec.attributes().GetInt("select_last_index", 0) != 0;
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t>(type, [&]<typename T>() {
        kernel = ArgKernel<T, max>(shape.Product(0, axis), shape[axis],
                                   shape.Product(axis + 1, shape.rank()), last);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

OpDef ArgReduce(const char* name, ReferenceFn reference) {
  using Kind = AttributeSpec::Kind;
  OpDef def;
  def.name = name;
  def.version = 13;
  def.inputs = {RequiredParameter("data", "T", type_sets::kNumeric)};
  def.outputs = {RequiredParameter("reduced", "", {ElementType::kInt64})};
  def.attributes = {
      {"axis", Kind::kInt}, {"keepdims", Kind::kInt}, {"select_last_index", Kind::kInt}};
  def.infer = InferArgReduce;
  def.reference = reference;
  return def;
}

}  // namespace

void RegisterArgReduceOps(OpRegistry& registry) {
  registry.Register(ArgReduce("ArgMax", ArgReference<true>));
  registry.Register(ArgReduce("ArgMin", ArgReference<false>));
}

}  // namespace inferd::engine
