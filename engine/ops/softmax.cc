// Softmax LogSoftmax Hardmax along one axis.
#include <cmath>
#include <limits>

#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferAxisKept(InferenceContext& context) {
  if (context.shape(0).has_rank()) {
    RETURN_IF_ERROR(ExpectRank(context, 0, 1));
    RETURN_IF_ERROR(AxisAttribute(context, -1).status());
  }
  return InferSameAsInput(context);
}

// One column: `extent` elements `stride` apart. Every variant reads an element last where it
// writes it, so x and y may be the same.
struct SoftmaxColumn {
  template <typename T>
  static void Apply(const T* x, T* y, int64_t extent, int64_t stride) {
    using Compute = ComputeType<T>;
    const Compute max = Max(x, extent, stride);
    double sum = 0;
    for (int64_t i = 0; i < extent; ++i) {
      sum += std::exp(static_cast<Compute>(x[i * stride]) - max);
    }
    for (int64_t i = 0; i < extent; ++i) {
      const Compute e = std::exp(static_cast<Compute>(x[i * stride]) - max);
      y[i * stride] = static_cast<T>(static_cast<Compute>(e / sum));
    }
  }
  // NaN if there is one.
  template <typename T>
  static ComputeType<T> Max(const T* x, int64_t extent, int64_t stride) {
    using Compute = ComputeType<T>;
    Compute max = -std::numeric_limits<Compute>::infinity();
    for (int64_t i = 0; i < extent; ++i) {
      const Compute v = static_cast<Compute>(x[i * stride]);
      max = max > v || max != max ? max : v;
    }
    return max;
  }
};

struct LogSoftmaxColumn {
  template <typename T>
  static void Apply(const T* x, T* y, int64_t extent, int64_t stride) {
    using Compute = ComputeType<T>;
    const Compute max = SoftmaxColumn::Max(x, extent, stride);
    double sum = 0;
    for (int64_t i = 0; i < extent; ++i) {
      sum += std::exp(static_cast<Compute>(x[i * stride]) - max);
    }
    const double shift = static_cast<double>(max) + std::log(sum);
    for (int64_t i = 0; i < extent; ++i) {
      const double v = static_cast<double>(static_cast<Compute>(x[i * stride]));
      y[i * stride] = static_cast<T>(static_cast<Compute>(v - shift));
    }
  }
};

// 1 at the first maximum, 0 elsewhere.
struct HardmaxColumn {
  template <typename T>
  static void Apply(const T* x, T* y, int64_t extent, int64_t stride) {
    using Compute = ComputeType<T>;
    int64_t best = 0;
    for (int64_t i = 1; i < extent; ++i) {
      if (static_cast<Compute>(x[i * stride]) > static_cast<Compute>(x[best * stride])) best = i;
    }
    for (int64_t i = 0; i < extent; ++i) y[i * stride] = static_cast<T>(i == best ? 1.0f : 0.0f);
  }
};

template <typename Column>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& shape = spec.input(0).shape;
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(spec.attributes().GetInt("axis", -1), shape.rank()));
  const int64_t outer = shape.Product(0, axis);
  const int64_t extent = shape[axis];
  const int64_t inner = shape.Product(axis + 1, shape.rank());
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
        kernel = MakeKernel([=](KernelContext& context) {
          const T* x = context.input(0).as<T>();
          T* y = context.output(0).as<T>();
          if (extent == 0) return absl::OkStatus();
          const int64_t grain = std::max<int64_t>(1, kElementwiseGrain / 8 / extent);
          context.threads().ParallelFor(outer * inner, grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t offset = i / inner * extent * inner + i % inner;
              Column::Apply(x + offset, y + offset, extent, inner);
            }
          });
          return absl::OkStatus();
        });
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

OpDef AlongAxis(const char* name, ReferenceFn reference) {
  OpDef def;
  def.name = name;
  def.version = 13;
  def.inputs = {RequiredParameter("input", "T", type_sets::kFloats)};
  def.outputs = {RequiredParameter("output", "T", type_sets::kFloats)};
  def.attributes = {{"axis", AttributeSpec::Kind::kInt}};
  def.infer = InferAxisKept;
  def.reference = reference;
  def.in_place_inputs = {0};
  return def;
}

}  // namespace

void RegisterSoftmaxOps(OpRegistry& registry) {
  registry.Register(AlongAxis("Softmax", Reference<SoftmaxColumn>));
  registry.Register(AlongAxis("LogSoftmax", Reference<LogSoftmaxColumn>));
  registry.Register(AlongAxis("Hardmax", Reference<HardmaxColumn>));
}

}  // namespace inferd::engine
