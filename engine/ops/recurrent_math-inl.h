// The float bodies of recurrent_math.h, included once per instruction set by recurrent_math.cc with
// INFERD_ISA naming the namespace and INFERD_LANES the floats of a vector. As in every such file
// nothing here may have a copy outside its namespace: no templates, no lambdas, no library calls.
namespace INFERD_ISA {

#include "engine/kernel/float_functions-inl.h"  // NOLINT

typedef float Lanes __attribute__((vector_size(INFERD_LANES * 4)));

INFERD_INLINE float SumOf(const Lanes* v) {
  float s[INFERD_LANES];
  __builtin_memcpy(s, v, sizeof(s));
  INFERD_UNROLL
  for (int half = INFERD_LANES / 2; half > 0; half /= 2) {
    INFERD_UNROLL
    for (int l = 0; l < half; ++l) s[l] += s[l + half];
  }
  return s[0];
}

// m rows of a (at most 2) with n consecutive rows of w (at most 8), both known when compiled. The
// order of the sums is the same for every tile size.
INFERD_INLINE void Tile(const float* const* a, float* const* out, const float* w, int64_t depth,
                        int64_t column, const int m, const int n) {
  Lanes sums[2][8] = {};
  int64_t k = 0;
  for (; k + INFERD_LANES <= depth; k += INFERD_LANES) {
    Lanes left[2];
    INFERD_UNROLL
    for (int i = 0; i < m; ++i) __builtin_memcpy(&left[i], a[i] + k, sizeof(Lanes));
    INFERD_UNROLL
    for (int j = 0; j < n; ++j) {
      Lanes right;
      __builtin_memcpy(&right, w + j * depth + k, sizeof(Lanes));
      INFERD_UNROLL
      for (int i = 0; i < m; ++i) sums[i][j] += left[i] * right;
    }
  }
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = SumOf(&sums[i][j]);
      for (int64_t p = k; p < depth; ++p) sum += a[i][p] * w[j * depth + p];
      out[i][column + j] += sum;
    }
  }
}

static void Products(const float* const* a, float* const* out, int64_t rows, const float* w,
                     int64_t depth, int64_t first, int64_t last) {
  int64_t j = first;
  for (; j + 8 <= last; j += 8) {
    const float* block = w + j * depth;
    int64_t i = 0;
    for (; i + 2 <= rows; i += 2) {
      Tile(a + i, out + i, block, depth, j, 2, 4);
      Tile(a + i, out + i, block + 4 * depth, depth, j + 4, 2, 4);
    }
    if (i < rows) Tile(a + i, out + i, block, depth, j, 1, 8);
  }
  for (; j < last; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      Tile(a + i, out + i, w + j * depth, depth, j, 1, 1);
    }
  }
}

static void Sigmoids(float* x, int64_t n) {
  INFERD_IVDEP
  for (int64_t i = 0; i < n; ++i) x[i] = Sigmoid(x[i]);
}

static void Tanhs(float* x, int64_t n) {
  INFERD_IVDEP
  for (int64_t i = 0; i < n; ++i) x[i] = Tanh(x[i]);
}

constexpr FloatKernels kKernels = {Products, Sigmoids, Tanhs};

}  // namespace INFERD_ISA
