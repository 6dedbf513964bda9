// Flush-to-zero for the calling thread while in scope.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace inferd::engine {

// Sets FTZ and DAZ (Intel SDM vol. 1, 10.2.3, MXCSR bits 15 and 6) and restores the register after.
// Arithmetic on denormals takes a microcode assist of some 150 cycles; networks with decaying
// state reach them. No effect on other architectures.
class ScopedFlushDenormals {
 public:
#if defined(__SSE__)
  ScopedFlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040u); }
  ~ScopedFlushDenormals() { _mm_setcsr(saved_); }

 private:
  uint32_t saved_;
#else
  ScopedFlushDenormals() {}
  ~ScopedFlushDenormals() {}

 public:
#endif
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;
  ScopedFlushDenormals& operator=(const ScopedFlushDenormals&) = delete;
};

}  // namespace inferd::engine
