#include "engine/providers/cpu/vector/kernels.h"

// Promises that no iteration depends on another: an output is an input itself, element for
// element, or does not overlap it.
#if defined(__clang__)
#define INFERD_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define INFERD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define INFERD_UNROLL _Pragma("GCC unroll 32")
#define INFERD_IVDEP _Pragma("GCC ivdep")
#endif

// Nothing here looks at floating-point exception flags or errno; promising so lets both sides of a
// selection be computed, without which such loops are not vectorized.
#if !defined(__clang__)
#pragma GCC optimize("no-trapping-math,no-math-errno")
#endif

namespace inferd::engine::cpu {
namespace {

#define INFERD_ISA baseline
#define INFERD_ISA_NAME "baseline"
#include "engine/providers/cpu/vector/kernels-inl.h"  // NOLINT
#undef INFERD_ISA
#undef INFERD_ISA_NAME

#if defined(__x86_64__)
#define INFERD_HAS_X86_VARIANTS 1

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define INFERD_ISA avx2
#define INFERD_ISA_NAME "avx2"
#include "engine/providers/cpu/vector/kernels-inl.h"  // NOLINT
#undef INFERD_ISA
#undef INFERD_ISA_NAME
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"))), \
                             apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")
#endif
#define INFERD_ISA avx512
#define INFERD_ISA_NAME "avx512"
#include "engine/providers/cpu/vector/kernels-inl.h"  // NOLINT
#undef INFERD_ISA
#undef INFERD_ISA_NAME
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif  // __x86_64__

struct Variants {
  const VectorKernels* list[4] = {};

  Variants() {
    int n = 0;
    // Best first.
#if defined(INFERD_HAS_X86_VARIANTS)
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
      list[n++] = &avx512::kKernels;
    }
    if (has_avx2) list[n++] = &avx2::kKernels;
#endif
    list[n++] = &baseline::kKernels;
  }
};

const Variants& Supported() {
  static const Variants variants;
  return variants;
}

}  // namespace

const VectorKernels& Vectors() { return *Supported().list[0]; }
const VectorKernels* const* AllVectorKernels() { return Supported().list; }

}  // namespace inferd::engine::cpu
