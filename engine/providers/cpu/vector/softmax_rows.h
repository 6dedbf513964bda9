// Softmax of rows of floats, compiled for several instruction sets: see each_isa-inl.h.
#pragma once

#include <cstdint>

namespace inferd::engine::cpu {

struct SoftmaxKernels {
  const char* isa;
  // y = exp(x - max) / sum for each of `rows` consecutive rows of n > 0. Given x - max, which is
  // rounded to float, a result is within 6 ulp; where exp(x - max) is no normal number it is 0.
  // y may be x.
  void (*softmax)(const float* x, float* y, int64_t rows, int64_t n);
  // y = x - max - log(sum), within 2^-20 of 1 plus its magnitude.
  void (*log_softmax)(const float* x, float* y, int64_t rows, int64_t n);
  // The same along the outer of two dimensions: element i of column j < columns is x[i * stride +
  // j]. `columns` is at most kSoftmaxColumns.
  void (*softmax_columns)(const float* x, float* y, int64_t n, int64_t stride, int64_t columns);
  void (*log_softmax_columns)(const float* x, float* y, int64_t n, int64_t stride, int64_t columns);
};
inline constexpr int64_t kSoftmaxColumns = 64;

const SoftmaxKernels& BestSoftmax();
// All variants this machine can run, best first; ends with null.
const SoftmaxKernels* const* AllSoftmax();

}  // namespace inferd::engine::cpu
