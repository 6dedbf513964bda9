// Clip: min(max(x, low), high); absent bounds do not bind. NaN stays NaN.
#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferClip(InferenceContext& context) {
  for (int i : {1, 2}) {
    if (context.has_input(i)) RETURN_IF_ERROR(ExpectScalar(context, i));
  }
  return InferSameAsInput(context);
}

template <typename T>
std::unique_ptr<Kernel> ClipKernel(int64_t elements) {
  return MakeKernel([elements](KernelContext& context) {
    using Compute = ComputeType<T>;
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    const bool has_low = context.has_input(1), has_high = context.has_input(2);
    const Compute low = has_low ? static_cast<Compute>(*context.input(1).as<T>()) : Compute{};
    const Compute high = has_high ? static_cast<Compute>(*context.input(2).as<T>()) : Compute{};
    context.threads().ParallelFor(elements, kElementwiseGrain, [&](int64_t begin, int64_t end) {
      INFERD_INDEPENDENT_ITERATIONS
      for (int64_t i = begin; i < end; ++i) {
        Compute v = static_cast<Compute>(x[i]);
        v = has_low && v < low ? low : v;
        v = has_high && v > high ? high : v;
        y[i] = static_cast<T>(v);
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> ClipReference(const NodeSpec& spec) {
  std::unique_ptr<Kernel> kernel;
  const ElementType type = spec.input(0).type;
  if (!DispatchType<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t>(type, [&]<typename T>() {
        kernel = ClipKernel<T>(spec.output(0).shape.NumElements());
      })) {
    return UnsupportedType(spec, type);
  }
  return kernel;
}

}  // namespace

void RegisterClipOps(OpRegistry& registry) {
  using type_sets::kNumeric;
  OpDef def;
  def.name = "Clip";
  def.version = 13;
  def.inputs = {RequiredParameter("input", "T", kNumeric), OptionalParameter("min", "T", kNumeric),
                OptionalParameter("max", "T", kNumeric)};
  def.outputs = {RequiredParameter("output", "T", kNumeric)};
  def.infer = InferClip;
  def.reference = ClipReference;
  def.in_place_inputs = {0};
  def.is_elementwise = true;
  registry.Register(std::move(def));
}

}  // namespace inferd::engine
