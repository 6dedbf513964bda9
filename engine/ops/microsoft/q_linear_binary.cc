// com.microsoft QLinearAdd and QLinearMul: elementwise, with broadcast, on quantized bytes.
//
// The order of the float operations is that of ONNX Runtime's vector kernels, so that results
// agree where a sum lies half way between two bytes.
#include <array>
#include <memory>

#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/quantized_range.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input : int { kA, kAScale, kAZero, kB, kBScale, kBZero, kCScale, kCZero };

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(SymbolicShape c, BroadcastSymbolicShapes(context.shape(kA), context.shape(kB)));
  context.SetOutput(0, context.element_type(kA), std::move(c));
  return absl::OkStatus();
}

// c = a * a_scale / c_scale + (b * b_scale / c_scale + what the zero points come to), each step
// rounded once, as a fused multiply-add does: products of bytes and floats are exact in double.
struct Sum {
  float a_ratio, b_ratio, fixed;
  Sum(const ByteQuantization& a, const ByteQuantization& b, const ByteQuantization& c)
      : a_ratio(a.scale / c.scale),
        b_ratio(b.scale / c.scale),
        fixed(static_cast<float>(c.zero_point) - (a_ratio * static_cast<float>(a.zero_point) +
                                                  b_ratio * static_cast<float>(b.zero_point))) {}
  float operator()(int a, int b) const {
    const auto of_b = static_cast<float>(double{b_ratio} * b + double{fixed});
    return static_cast<float>(double{a_ratio} * a + double{of_b});
  }
};

struct Product {
  float ratio, c_zero;
  int a_zero, b_zero;
  Product(const ByteQuantization& a, const ByteQuantization& b, const ByteQuantization& c)
      : ratio(a.scale * b.scale / c.scale),
        c_zero(static_cast<float>(c.zero_point)),
        a_zero(a.zero_point),
        b_zero(b.zero_point) {}
  float operator()(int a, int b) const {
    return static_cast<float>((a - a_zero) * (b - b_zero)) * ratio + c_zero;
  }
};

template <typename T, typename Op>
std::unique_ptr<Kernel> MakeBinary(const NodeSpec& spec) {
  const BroadcastPlan<2> plan =
      PlanBroadcast<2>(spec.output(0).shape, {&spec.input(kA).shape, &spec.input(kB).shape});
  return MakeKernel([plan](KernelContext& context) {
    constexpr ElementType kType = TypeOf<T>();
    const Op op(ReadQuantization(context, kType, kAScale, kAZero),
                ReadQuantization(context, kType, kBScale, kBZero),
                ReadQuantization(context, kType, kCScale, kCZero));
    const T* a = context.input(kA).as<T>();
    const T* b = context.input(kB).as<T>();
    T* c = context.output(0).as<T>();
    const int64_t a_step = plan.varies(0), b_step = plan.varies(1);
    constexpr QuantizedRange kRange = RangeOf(kType);
    const auto row = [&](int64_t index, const std::array<int64_t, 2>& offsets, int64_t count) {
      const T* pa = a + offsets[0];
      const T* pb = b + offsets[1];
      T* pc = c + index;
      const auto store = [&](int64_t i, int va, int vb) {
        // The zero point is in the value already: it is rounded with it.
        pc[i] = static_cast<T>(static_cast<int32_t>(RoundAndSaturate(op(va, vb), 0, kRange)));
      };
      if (a_step == 1 && b_step == 1) {
        INFERD_INDEPENDENT_ITERATIONS
        for (int64_t i = 0; i < count; ++i) store(i, pa[i], pb[i]);
      } else {
        for (int64_t i = 0; i < count; ++i) store(i, pa[i * a_step], pb[i * b_step]);
      }
    };
    context.threads().ParallelFor(
        plan.elements, kElementwiseGrain,
        [&](int64_t begin, int64_t end) { ForEachRow(plan, begin, end, row); });
    return absl::OkStatus();
  });
}

template <typename Op>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  RETURN_IF_ERROR(ExpectOneElement(spec, {kAScale, kAZero, kBScale, kBZero, kCScale, kCZero}));
  if (spec.input(kA).type == ElementType::kInt8) return MakeBinary<int8_t, Op>(spec);
  return MakeBinary<uint8_t, Op>(spec);
}

OpDef Definition(absl::string_view name, ReferenceFn reference) {
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  return {.domain = "com.microsoft",
          .name = name,
          .inputs = {{"A", "T", kByteTypes},
                     {"A_scale", "", kFloat},
                     {"A_zero_point", "T", kByteTypes, kOptional},
                     {"B", "T", kByteTypes},
                     {"B_scale", "", kFloat},
                     {"B_zero_point", "T", kByteTypes, kOptional},
                     {"C_scale", "", kFloat},
                     {"C_zero_point", "T", kByteTypes, kOptional}},
          .outputs = {{"C", "T", kByteTypes}},
          .infer = Infer,
          .reference = reference};
}

}  // namespace

void RegisterQLinearBinaryOps(OpRegistry& registry) {
  registry.Register(Definition("QLinearAdd", Reference<Sum>));
  registry.Register(Definition("QLinearMul", Reference<Product>));
}

}  // namespace inferd::engine
