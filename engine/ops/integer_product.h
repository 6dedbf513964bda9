// Products of int16 matrices with int32 sums: what all quantized convolutions and matrix products
// come down to. 8-bit operands are widened with their zero points subtracted, which fits, so that
// the product needs no corrections and padding with the zero point is padding with 0.
#pragma once

#include <cstdint>

#include "engine/tensor/element_type.h"

namespace inferd::engine {

// Rows are this many elements long, or a multiple: whole vectors on every processor.
inline constexpr int64_t kDepthStep = 32;

constexpr int64_t PaddedDepth(int64_t depth) {
  return (depth + kDepthStep - 1) / kDepthStep * kDepthStep;
}

// c[i * c_stride + j] = sum over k < depth of a[i * depth + k] * b[j * depth + k]; sums wrap at 32
// bits. depth must be a multiple of kDepthStep.
void MultiplyInt16(const int16_t* a, int64_t a_rows, const int16_t* b, int64_t b_rows,
                   int64_t depth, int32_t* c, int64_t c_stride);

// target[i] = source[first + i * stride] - zero_point, for i < count, then zeros up to `padded`.
// `type` is int8 or uint8.
void WidenRow(ElementType type, const void* source, int64_t first, int64_t stride, int64_t count,
              int zero_point, int64_t padded, int16_t* target);

// One tap of a filter over a row of sums: sums[i] for i in [begin, end) get
// weight * (source[offset + i * stride] - zero_point).
struct RowTap {
  int64_t offset;
  int64_t begin;
  int64_t end;
  int weight;
};

// Adds all taps; sums wrap at 32 bits. `type`, of the source, is int8 or uint8.
void AddRowTaps(ElementType type, const void* source, int64_t stride, int zero_point,
                const RowTap* taps, int64_t tap_count, int32_t* sums);

// One tap of a filter over a whole plane: what is added to sum i is weight * plane[offset + i].
struct PlaneTap {
  int64_t offset;
  int weight;
};

// Adds all taps to sums[0, count); sums wrap at 32 bits.
void AddPlaneTaps(const int16_t* plane, const PlaneTap* taps, int64_t tap_count, int64_t count,
                  int32_t* sums);

// Element `index` of an int8 or uint8 buffer.
int LoadByte(ElementType type, const void* source, int64_t index);

}  // namespace inferd::engine
