// Shrink: x + bias below -lambd, x - bias above lambd, 0 between.
#include <type_traits>

#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"

namespace inferd::engine {
namespace {

struct Shrink {
  double lambd;
  double bias;

  template <typename T>
  T operator()(T x) const {
    const double v = static_cast<double>(x);
    if (v < -lambd) return Shifted(x, bias);
    if (v > lambd) return Shifted(x, -bias);
    return v == v ? T{0} : x;
  }

 private:
  // Integers: toward zero, wrapping around where the type ends.
  template <typename T>
  static T Shifted(T x, double by) {
    if constexpr (std::is_floating_point_v<T>) {
      return x + static_cast<T>(by);
    } else {
      const double sum = static_cast<double>(x) + by;
      if (sum >= 0x1p63) return sum < 0x1p64 ? static_cast<T>(static_cast<uint64_t>(sum)) : T{0};
      return sum >= -0x1p63 ? static_cast<T>(static_cast<int64_t>(sum)) : T{0};
    }
  }
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shrink fn{spec.attributes().GetFloat("lambd", 0.5f),
                  spec.attributes().GetFloat("bias", 0.0f)};
  return UnaryKernelFor<void, Shrink, float, double, Float16, BFloat16, int8_t, int16_t, int32_t,
                        int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(spec, fn);
}

}  // namespace

void RegisterShrinkOps(OpRegistry& registry) {
  registry.Register({.name = "Shrink",
                     .version = 9,
                     .oldest_version = 9,
                     .inputs = {RequiredParameter("input", "T", type_sets::kNumeric)},
                     .outputs = {RequiredParameter("output", "T", type_sets::kNumeric)},
                     .attributes = {{"bias", AttributeSpec::Kind::kFloat},
                                    {"lambd", AttributeSpec::Kind::kFloat}},
                     .infer = InferSameAsInput,
                     .reference = Reference,
                     .in_place_inputs = {0},
                     .is_elementwise = true});
}

}  // namespace inferd::engine
