// Transposition of matrices of 32-bit words, compiled for several instruction sets: see
// each_isa-inl.h.
#pragma once

#include <cstdint>

namespace inferd::engine::cpu {

struct TransposeKernels {
  const char* isa;
  // to[c * to_stride + r] = from[r * from_stride + c] for r < rows, c < columns.
  void (*transpose)(const float* from, int64_t from_stride, float* to, int64_t to_stride,
                    int64_t rows, int64_t columns);
};

const TransposeKernels& BestTranspose();
// All variants this machine can run, best first; ends with null.
const TransposeKernels* const* AllTranspose();

}  // namespace inferd::engine::cpu
