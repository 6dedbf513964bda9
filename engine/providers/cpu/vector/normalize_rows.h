// Layer and root-mean-square normalization of rows of floats, compiled for several instruction
// sets: see each_isa-inl.h.
#pragma once

#include <cstdint>

namespace inferd::engine::cpu {

// What one row of n elements is turned into: (x - mean) / deviation * scale + shift, without
// centring x / root mean square * scale + shift.
struct RowNormalization {
  int64_t n = 0;
  double epsilon = 0;
  bool centred = true;
  const float* scale = nullptr;  // n elements
  const float* shift = nullptr;  // n elements, or null
};

struct RowMoments {
  float mean = 0;
  float inverse = 0;  // of the standard deviation, or of the root mean square
};

struct NormalizeKernels {
  const char* isa;
  // The mean is subtracted in two steps, so that the error does not grow with the mean: a result
  // is within 2^-20 of (|normalized| * |scale| + |shift|) of the exact one, plus what rounding x
  // to float did. y may be x.
  RowMoments (*normalize)(const RowNormalization& form, const float* x, float* y);
  // sum = a + b + c; c may be null. sum may be any of them.
  void (*add)(const float* a, const float* b, const float* c, float* sum, int64_t n);
};

const NormalizeKernels& BestNormalize();
// All variants this machine can run, best first; ends with null.
const NormalizeKernels* const* AllNormalize();

}  // namespace inferd::engine::cpu
