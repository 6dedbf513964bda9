#include "engine/ops/integer_product.h"

#include <algorithm>

// The same loops are compiled for several instruction sets; the best the processor has is chosen
// once.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define INFERD_DISPATCH_X86 1
#else
#define INFERD_DISPATCH_X86 0
#endif

namespace inferd::engine {
namespace {

// Sums of this file wrap at 32 bits: it is compiled with -fwrapv.
//
// A tile of kA x kB sums. The products of a pair of neighbours are added in one instruction, which
// the compiler finds by itself in this form.
template <int kA, int kB>
__attribute__((always_inline)) inline void Tile(const int16_t* a, const int16_t* b, int64_t steps,
                                                int32_t* c, int64_t c_stride) {
  const int64_t depth = steps * kDepthStep;
  int32_t sums[kA][kB] = {};
  for (int64_t k = 0; k < depth; ++k) {
    for (int i = 0; i < kA; ++i) {
      for (int j = 0; j < kB; ++j) {
        sums[i][j] += a[i * depth + k] * b[j * depth + k];
      }
    }
  }
  for (int i = 0; i < kA; ++i) {
    for (int j = 0; j < kB; ++j) c[i * c_stride + j] = sums[i][j];
  }
}

template <int kA>
__attribute__((always_inline)) inline void RowOfTiles(const int16_t* a, const int16_t* b,
                                                      int64_t b_rows, int64_t steps, int32_t* c,
                                                      int64_t c_stride) {
  const int64_t depth = steps * kDepthStep;
  int64_t j = 0;
  for (; j + 4 <= b_rows; j += 4) Tile<kA, 4>(a, b + j * depth, steps, c + j, c_stride);
  for (; j < b_rows; ++j) Tile<kA, 1>(a, b + j * depth, steps, c + j, c_stride);
}

__attribute__((always_inline)) inline void Multiply(const int16_t* a, int64_t a_rows,
                                                    const int16_t* b, int64_t b_rows, int64_t depth,
                                                    int32_t* c, int64_t c_stride) {
  const int64_t steps = depth / kDepthStep;
  int64_t i = 0;
  for (; i + 2 <= a_rows; i += 2) {
    RowOfTiles<2>(a + i * depth, b, b_rows, steps, c + i * c_stride, c_stride);
  }
  if (i < a_rows) RowOfTiles<1>(a + i * depth, b, b_rows, steps, c + i * c_stride, c_stride);
}

template <typename T>
__attribute__((always_inline)) inline void AddTaps(const T* source, int64_t stride, int zero_point,
                                                   const RowTap* taps, int64_t tap_count,
                                                   int32_t* sums) {
  for (int64_t t = 0; t < tap_count; ++t) {
    const int weight = taps[t].weight;
    const int64_t end = taps[t].end;
    const T* x = source + taps[t].offset;
    if (stride == 1) {
      for (int64_t i = taps[t].begin; i < end; ++i) sums[i] += weight * (x[i] - zero_point);
    } else {
      for (int64_t i = taps[t].begin; i < end; ++i) {
        sums[i] += weight * (x[i * stride] - zero_point);
      }
    }
  }
}

__attribute__((always_inline)) inline void AddAnyTaps(bool is_signed, const void* source,
                                                      int64_t stride, int zero_point,
                                                      const RowTap* taps, int64_t tap_count,
                                                      int32_t* sums) {
  if (is_signed) {
    AddTaps(static_cast<const int8_t*>(source), stride, zero_point, taps, tap_count, sums);
  } else {
    AddTaps(static_cast<const uint8_t*>(source), stride, zero_point, taps, tap_count, sums);
  }
}

// Sums stay in registers over the taps.
__attribute__((always_inline)) inline void AddPlane(const int16_t* plane, const PlaneTap* taps,
                                                    int64_t tap_count, int64_t count,
                                                    int32_t* sums) {
  constexpr int64_t kBlock = 32;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    int32_t block[kBlock];
    for (int64_t j = 0; j < kBlock; ++j) block[j] = sums[i + j];
    for (int64_t t = 0; t < tap_count; ++t) {
      const int16_t* x = plane + taps[t].offset + i;
      const int weight = taps[t].weight;
      for (int64_t j = 0; j < kBlock; ++j) block[j] += weight * x[j];
    }
    for (int64_t j = 0; j < kBlock; ++j) sums[i + j] = block[j];
  }
  for (int64_t t = 0; t < tap_count; ++t) {
    const int16_t* x = plane + taps[t].offset;
    for (int64_t j = i; j < count; ++j) sums[j] += taps[t].weight * x[j];
  }
}

using AddPlaneFn = void (*)(const int16_t*, const PlaneTap*, int64_t, int64_t, int32_t*);
using AddFn = void (*)(bool, const void*, int64_t, int, const RowTap*, int64_t, int32_t*);
using MultiplyFn = void (*)(const int16_t*, int64_t, const int16_t*, int64_t, int64_t, int32_t*,
                            int64_t);

void MultiplyBaseline(const int16_t* a, int64_t a_rows, const int16_t* b, int64_t b_rows,
                      int64_t depth, int32_t* c, int64_t c_stride) {
  Multiply(a, a_rows, b, b_rows, depth, c, c_stride);
}

void AddBaseline(bool is_signed, const void* source, int64_t stride, int zero_point,
                 const RowTap* taps, int64_t tap_count, int32_t* sums) {
  AddAnyTaps(is_signed, source, stride, zero_point, taps, tap_count, sums);
}

void AddPlaneBaseline(const int16_t* plane, const PlaneTap* taps, int64_t tap_count, int64_t count,
                      int32_t* sums) {
  AddPlane(plane, taps, tap_count, count, sums);
}

#if INFERD_DISPATCH_X86
__attribute__((target("avx2"))) void AddPlaneAvx2(const int16_t* plane, const PlaneTap* taps,
                                                  int64_t tap_count, int64_t count, int32_t* sums) {
  AddPlane(plane, taps, tap_count, count, sums);
}

__attribute__((target("avx2"))) void AddAvx2(bool is_signed, const void* source, int64_t stride,
                                             int zero_point, const RowTap* taps, int64_t tap_count,
                                             int32_t* sums) {
  AddAnyTaps(is_signed, source, stride, zero_point, taps, tap_count, sums);
}

__attribute__((target("avx2"))) void MultiplyAvx2(const int16_t* a, int64_t a_rows,
                                                  const int16_t* b, int64_t b_rows, int64_t depth,
                                                  int32_t* c, int64_t c_stride) {
  Multiply(a, a_rows, b, b_rows, depth, c, c_stride);
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,prefer-vector-width=512"))) void
MultiplyVnni(const int16_t* a, int64_t a_rows, const int16_t* b, int64_t b_rows, int64_t depth,
             int32_t* c, int64_t c_stride) {
  Multiply(a, a_rows, b, b_rows, depth, c, c_stride);
}
#endif

MultiplyFn BestMultiply() {
#if INFERD_DISPATCH_X86
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return MultiplyVnni;
  }
  if (__builtin_cpu_supports("avx2")) return MultiplyAvx2;
#endif
  return MultiplyBaseline;
}

AddFn BestAdd() {
#if INFERD_DISPATCH_X86
  if (__builtin_cpu_supports("avx2")) return AddAvx2;
#endif
  return AddBaseline;
}

AddPlaneFn BestAddPlane() {
#if INFERD_DISPATCH_X86
  if (__builtin_cpu_supports("avx2")) return AddPlaneAvx2;
#endif
  return AddPlaneBaseline;
}

template <typename T>
void Widen(const T* source, int64_t stride, int64_t count, int zero_point, int16_t* target) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) {
      target[i] = static_cast<int16_t>(source[i] - zero_point);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      target[i] = static_cast<int16_t>(source[i * stride] - zero_point);
    }
  }
}

}  // namespace

void MultiplyInt16(const int16_t* a, int64_t a_rows, const int16_t* b, int64_t b_rows,
                   int64_t depth, int32_t* c, int64_t c_stride) {
  static const MultiplyFn best = BestMultiply();
  best(a, a_rows, b, b_rows, depth, c, c_stride);
}

void WidenRow(ElementType type, const void* source, int64_t first, int64_t stride, int64_t count,
              int zero_point, int64_t padded, int16_t* target) {
  if (type == ElementType::kInt8) {
    Widen(static_cast<const int8_t*>(source) + first, stride, count, zero_point, target);
  } else {
    Widen(static_cast<const uint8_t*>(source) + first, stride, count, zero_point, target);
  }
  std::fill(target + count, target + padded, int16_t{0});
}

void AddRowTaps(ElementType type, const void* source, int64_t stride, int zero_point,
                const RowTap* taps, int64_t tap_count, int32_t* sums) {
  static const AddFn best = BestAdd();
  best(type == ElementType::kInt8, source, stride, zero_point, taps, tap_count, sums);
}

void AddPlaneTaps(const int16_t* plane, const PlaneTap* taps, int64_t tap_count, int64_t count,
                  int32_t* sums) {
  static const AddPlaneFn best = BestAddPlane();
  best(plane, taps, tap_count, count, sums);
}

int LoadByte(ElementType type, const void* source, int64_t index) {
  return type == ElementType::kInt8 ? static_cast<const int8_t*>(source)[index]
                                    : static_cast<const uint8_t*>(source)[index];
}

}  // namespace inferd::engine
