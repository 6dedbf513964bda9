#include "engine/providers/cpu/vector/nibbles.h"

#if defined(__clang__)
#define INFERD_UNROLL _Pragma("clang loop unroll(full)")
#else
#define INFERD_UNROLL _Pragma("GCC unroll 32")
#endif

namespace inferd::engine::cpu {
namespace {

#define INFERD_ISA baseline
#include "engine/providers/cpu/vector/nibbles-inl.h"  // NOLINT
#undef INFERD_ISA

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define INFERD_ISA avx2
#include "engine/providers/cpu/vector/nibbles-inl.h"  // NOLINT
#undef INFERD_ISA
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif  // __x86_64__

DotNibblesLoop Best() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::DotNibbles;
#endif
  return baseline::DotNibbles;
}

}  // namespace

DotNibblesLoop DotNibbles() {
  static const DotNibblesLoop best = Best();
  return best;
}

}  // namespace inferd::engine::cpu
