// From int32 sums to a quantized 8-bit type.
#pragma once

#include <cstdint>

#include "engine/ops/quantized_range.h"
#include "engine/tensor/element_type.h"

namespace inferd::engine {

// y[first + i * stride] = saturate(round((sums[i] + bias) * scale) + zero_point), with the scale
// scales[i * scale_step]. `type` is int8 or uint8. The product is one of floats, in this order:
// ONNX Runtime's arithmetic, which the outputs of quantized models are compared with.
void RequantizeRow(ElementType type, const int32_t* sums, int64_t count, int32_t bias,
                   const float* scales, int64_t scale_step, int zero_point, void* y, int64_t first,
                   int64_t stride);

}  // namespace inferd::engine
