#include "engine/ops/requantize.h"

namespace inferd::engine {
namespace {

template <typename T>
void Requantize(const int32_t* sums, int64_t count, int32_t bias, const float* scales,
                int64_t scale_step, float zero_point, T* y, int64_t stride) {
  const QuantizedRange range = RangeOf(TypeOf<T>());
  const auto quantize = [&](int32_t sum, float scale) {
    // Wraps as the sums do.
    const auto biased =
        static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(bias));
    return static_cast<T>(static_cast<int32_t>(
        RoundAndSaturate(static_cast<float>(biased) * scale, zero_point, range)));
  };
  if (scale_step != 0) {
    for (int64_t i = 0; i < count; ++i) y[i * stride] = quantize(sums[i], scales[i]);
  } else if (stride != 1) {
    for (int64_t i = 0; i < count; ++i) y[i * stride] = quantize(sums[i], *scales);
  } else {
    const float scale = *scales;
    for (int64_t i = 0; i < count; ++i) y[i] = quantize(sums[i], scale);
  }
}

}  // namespace

void RequantizeRow(ElementType type, const int32_t* sums, int64_t count, int32_t bias,
                   const float* scales, int64_t scale_step, int zero_point, void* y, int64_t first,
                   int64_t stride) {
  const float zero = static_cast<float>(zero_point);
  if (type == ElementType::kInt8) {
    Requantize(sums, count, bias, scales, scale_step, zero, static_cast<int8_t*>(y) + first,
               stride);
  } else {
    Requantize(sums, count, bias, scales, scale_step, zero, static_cast<uint8_t*>(y) + first,
               stride);
  }
}

}  // namespace inferd::engine
