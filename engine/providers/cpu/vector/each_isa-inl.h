// Includes the file INFERD_ISA_BODY once per instruction set, inside namespaces baseline, avx2 and
// avx512 of where this is included, and defines the table of those that this machine can run.
// The file defines what lies in its namespace INFERD_ISA: everything in it must be internal, for a
// function compiled for AVX must never be the one copy the linker keeps of an inline function.
// Of its names `kKernels`, of type INFERD_ISA_TABLE, is what the table holds.
//
// INFERD_LANES floats fill a register.
#if !defined(INFERD_ISA_BODY) || !defined(INFERD_ISA_TABLE)
#error "INFERD_ISA_BODY and INFERD_ISA_TABLE say what to compile for each instruction set"
#endif

#undef INFERD_IVDEP
#undef INFERD_UNROLL
#if defined(__clang__)
#define INFERD_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define INFERD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define INFERD_UNROLL _Pragma("GCC unroll 32")
#define INFERD_IVDEP _Pragma("GCC ivdep")
// Nothing here looks at floating-point exception flags or errno; promising so lets both sides of a
// selection be computed, without which such loops are not vectorized.
#pragma GCC optimize("no-trapping-math,no-math-errno")
#endif

#define INFERD_ISA baseline
#define INFERD_ISA_NAME "baseline"
#define INFERD_LANES 4
#include INFERD_ISA_BODY  // NOLINT
#undef INFERD_ISA
#undef INFERD_ISA_NAME
#undef INFERD_LANES

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define INFERD_ISA avx2
#define INFERD_ISA_NAME "avx2"
#define INFERD_LANES 8
#include INFERD_ISA_BODY  // NOLINT
#undef INFERD_ISA
#undef INFERD_ISA_NAME
#undef INFERD_LANES
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
#define INFERD_LANES 16
#include INFERD_ISA_BODY  // NOLINT
#undef INFERD_ISA
#undef INFERD_ISA_NAME
#undef INFERD_LANES
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif  // __x86_64__

// The variants this machine can run, best first; ends with null.
struct IsaVariants {
  const INFERD_ISA_TABLE* list[4] = {};

  IsaVariants() {
    int n = 0;
#if defined(__x86_64__)
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

const INFERD_ISA_TABLE* const* Supported() {
  static const IsaVariants variants;
  return variants.list;
}
