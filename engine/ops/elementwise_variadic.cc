// Any number of operands, each broadcast to the output: Sum Mean Min Max.
#include <algorithm>
#include <vector>

#include "engine/ops/all_ops.h"
#include "engine/ops/broadcasting_op.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

// Combines the operands in order, chunk by chunk, in the compute type: 16-bit floats are rounded
// once, at the end. A chunk of the output is written after every operand has been read there.
template <typename T, typename Fn>
class VariadicKernel final : public Kernel {
 public:
  VariadicKernel(const NodeSpec& spec, bool mean)
      : elements_(spec.output(0).shape.NumElements()),
        divisor_(static_cast<ComputeType<T>>(mean ? spec.inputs.size() : 1)) {
    for (const OperandSpec& input : spec.inputs) {
      plans_.push_back(PlanBroadcast<1>(spec.output(0).shape, {&input.shape}));
    }
  }

  absl::Status Run(KernelContext& context) const override {
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(elements_, kElementwiseGrain, [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += kChunk) {
        RunChunk(context, begin, std::min(end, begin + kChunk), y);
      }
    });
    return absl::OkStatus();
  }

 private:
  using Compute = ComputeType<T>;
  static constexpr int64_t kChunk = 512;

  void RunChunk(KernelContext& context, int64_t begin, int64_t end, T* y) const {
    Compute total[kChunk];
    for (size_t k = 0; k < plans_.size(); ++k) {
      const T* x = context.input(static_cast<int>(k)).template as<T>();
      const bool varies = plans_[k].varies(0);
      ForEachRow(plans_[k], begin, end,
                 [&](int64_t index, const std::array<int64_t, 1>& offset, int64_t count) {
                   Compute* part = total + (index - begin);
                   if (k == 0) {
                     ForEachElement(x + offset[0], varies, count,
                                    [part](int64_t i, Compute v) { part[i] = v; });
                   } else {
                     ForEachElement(x + offset[0], varies, count,
                                    [part](int64_t i, Compute v) { part[i] = Fn{}(part[i], v); });
                   }
                 });
    }
    if constexpr (std::is_floating_point_v<Compute>) {
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(total[i - begin] / divisor_);
    } else {
      for (int64_t i = begin; i < end; ++i) y[i] = total[i - begin];
    }
  }

  // fn(i, value) along a row that either advances or repeats its first element.
  template <typename ElementFn>
  static void ForEachElement(const T* row, bool varies, int64_t count, ElementFn fn) {
    if (varies) {
      for (int64_t i = 0; i < count; ++i) fn(i, static_cast<Compute>(row[i]));
    } else {
      const Compute value = static_cast<Compute>(*row);
      for (int64_t i = 0; i < count; ++i) fn(i, value);
    }
  }

  std::vector<BroadcastPlan<1>> plans_;
  int64_t elements_;
  Compute divisor_;
};

template <typename Fn, bool mean, typename... Ts>
KernelOr Reference(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<Ts...>(type, [&]<typename T>() {
        kernel = std::make_unique<VariadicKernel<T, Fn>>(spec, mean);
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

template <typename Fn, bool mean>
KernelOr FloatReference(const NodeSpec& spec) {
  return Reference<Fn, mean, float, double, Float16, BFloat16>(spec);
}
template <typename Fn>
KernelOr NumericReference(const NodeSpec& spec) {
  return Reference<Fn, false, float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t,
                   uint8_t, uint16_t, uint32_t, uint64_t>(spec);
}

OpDef Variadic(const char* name, ElementTypeSet types, ReferenceFn reference) {
  // The standard has one variadic parameter of at least one operand.
  return BroadcastingOp(name, 13, {VariadicParameter("data_0", "T", types)},
                        RequiredParameter("result", "T", types), reference);
}

}  // namespace

void RegisterElementwiseVariadicOps(OpRegistry& registry) {
  using type_sets::kFloats;
  using type_sets::kNumeric;
  registry.Register(Variadic("Sum", kFloats, FloatReference<scalar::Add, false>));
  registry.Register(Variadic("Mean", kFloats, FloatReference<scalar::Add, true>));
  registry.Register(Variadic("Min", kNumeric, NumericReference<scalar::Min>));
  registry.Register(Variadic("Max", kNumeric, NumericReference<scalar::Max>));
}

}  // namespace inferd::engine
