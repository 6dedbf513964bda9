// Loops over float arrays, compiled for several instruction sets; the best this machine has is
// chosen at run time, so that one binary runs on any x86-64. Outputs may be the inputs themselves.
#pragma once

#include <cstdint>

namespace inferd::engine::cpu {

enum class UnaryFunction : uint8_t {
  kRelu,
  kLeakyRelu,  // alpha
  kClip,       // alpha: low, beta: high
  kSigmoid,
  kTanh,
  kElu,          // alpha
  kHardSigmoid,  // alpha, beta
  kHardSwish,
  kSilu,
  kGelu,
  kGeluTanh,
  kSoftplus,
  kMish,
  kAbs,
  kNeg,
  kSqrt,
  kExp,
  kReciprocal,
  kFloor,
  kCeil,
  kErf,
  kQuickGelu,  // alpha: x * sigmoid(alpha * x)
};
inline constexpr int kUnaryFunctions = 22;

enum class BinaryFunction : uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin, kPRelu };
inline constexpr int kBinaryFunctions = 7;

// y[i] = f(x[i]).
using UnaryLoop = void (*)(const float* x, float* y, int64_t n, float alpha, float beta);
// y[i] = f(a[i], b[i]).
using BinaryLoop = void (*)(const float* a, const float* b, float* y, int64_t n);
// y[i] = f(x[i], v[i % lanes]) and the same with the arguments of f exchanged; n a multiple of
// lanes. `lanes` is part of the function: see VectorKernels.
using LaneLoop = void (*)(const float* x, const float* v, float* y, int64_t n);
// y[i] = x[i] * scale[i % lanes] + shift[i % lanes].
using ScaleShiftLoop = void (*)(const float* x, const float* scale, const float* shift, float* y,
                                int64_t n);

// One block of output channels of a convolution of size 1 at consecutive positions:
//   y[p * lanes + l] = bias[l] + z[p * lanes + l]
//                      + sum over i < count of x(first + i, p) * w[i * lanes + l]
// where x(c, p) = x[c / lanes * block_stride + p * lanes + c % lanes] is the blocked input from
// the first position on. z may be null, and may be y.
using PointwiseLoop = void (*)(const float* x, int64_t block_stride, int64_t first, int64_t count,
                               const float* w, const float* bias, const float* z, float* y,
                               int64_t positions);

// y[r] = sum over i < n of x[i] * w[r * stride + i], for r < rows: a matrix times a vector, the
// matrix read once, row by row.
using DotRowsLoop = void (*)(const float* x, const float* w, int64_t stride, int64_t rows,
                             int64_t n, float* y);
// y[j] = sum over r < rows of x[r] * w[r * stride + j], for j < n: a vector times a matrix, the
// matrix read once, row by row.
using CombineRowsLoop = void (*)(const float* x, const float* w, int64_t stride, int64_t rows,
                                 int64_t n, float* y);

// Index into the tables by number of lanes.
enum LaneCount { kOneLane = 0, kEightLanes = 1, kSixteenLanes = 2 };
inline LaneCount LaneCountOf(int block) {
  return block == 1 ? kOneLane : (block == 8 ? kEightLanes : kSixteenLanes);
}

struct VectorKernels {
  const char* isa;
  UnaryLoop unary[kUnaryFunctions];
  BinaryLoop binary[kBinaryFunctions];
  LaneLoop lane[3][kBinaryFunctions];            // [LaneCount]: f(x, v)
  LaneLoop lane_exchanged[3][kBinaryFunctions];  // f(v, x)
  ScaleShiftLoop scale_shift[3];
  // sums[l] = sum over i of x[i * lanes + l]: positions values per lane.
  void (*sum[3])(const float* x, int64_t positions, float* sums);
  PointwiseLoop pointwise[3];  // null for one lane
  DotRowsLoop dot_rows;
  CombineRowsLoop combine_rows;
};

// The best loops for this CPU.
const VectorKernels& Vectors();
// All variants this CPU can run, for tests; ends with null.
const VectorKernels* const* AllVectorKernels();

}  // namespace inferd::engine::cpu
