#include "engine/ops/recurrent_math.h"

#include <cmath>

#include "engine/ops/scalar_functions.h"

#if defined(__clang__)
#define INFERD_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define INFERD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define INFERD_IVDEP _Pragma("GCC ivdep")
#define INFERD_UNROLL _Pragma("GCC unroll 16")
#endif

// Nothing here looks at floating-point exception flags or errno; promising so lets both sides of a
// selection be computed, without which such loops are not vectorized.
#if !defined(__clang__)
#pragma GCC optimize("no-trapping-math,no-math-errno")
#endif

namespace inferd::engine {
namespace {

struct FloatKernels {
  void (*products)(const float* const* a, float* const* out, int64_t rows, const float* w,
                   int64_t depth, int64_t first, int64_t last);
  void (*sigmoid)(float* x, int64_t n);
  void (*tanh)(float* x, int64_t n);
};

#define INFERD_ISA baseline
#define INFERD_LANES 4
#include "engine/ops/recurrent_math-inl.h"  // NOLINT
#undef INFERD_ISA
#undef INFERD_LANES

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define INFERD_ISA avx2
#define INFERD_LANES 8
#include "engine/ops/recurrent_math-inl.h"  // NOLINT
#undef INFERD_ISA
#undef INFERD_LANES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif  // __x86_64__

const FloatKernels& BestKernels() {
  static const FloatKernels* const best = [] {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2::kKernels;
#endif
    return &baseline::kKernels;
  }();
  return *best;
}

}  // namespace

void AddProducts(const float* const* a, float* const* out, int64_t rows, const float* w,
                 int64_t depth, int64_t first, int64_t last) {
  BestKernels().products(a, out, rows, w, depth, first, last);
}

void AddProducts(const double* const* a, double* const* out, int64_t rows, const double* w,
                 int64_t depth, int64_t first, int64_t last) {
  // Four sums, for the processor to work on at once.
  constexpr int kSums = 4;
  for (int64_t j = first; j < last; ++j) {
    const double* row = w + j * depth;
    for (int64_t i = 0; i < rows; ++i) {
      double sums[kSums] = {};
      int64_t k = 0;
      for (; k + kSums <= depth; k += kSums) {
        for (int l = 0; l < kSums; ++l) sums[l] += a[i][k + l] * row[k + l];
      }
      double sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
      for (; k < depth; ++k) sum += a[i][k] * row[k];
      out[i][j] += sum;
    }
  }
}

void SigmoidInPlace(float* values, int64_t count) { BestKernels().sigmoid(values, count); }
void TanhInPlace(float* values, int64_t count) { BestKernels().tanh(values, count); }

void SigmoidInPlace(double* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = scalar::Sigmoid{}(values[i]);
}
void TanhInPlace(double* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = std::tanh(values[i]);
}

}  // namespace inferd::engine
