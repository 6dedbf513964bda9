// The bodies of vector/softmax_rows.h; see each_isa-inl.h. A row is read once from memory and
// written once: the passes behind the first find it in the cache.
namespace INFERD_ISA {

#include "engine/providers/cpu/vector/vector_math-inl.h"  // NOLINT

// A NaN may be missed: the exponentials of such a row sum to NaN all the same.
INFERD_INLINE float RowMax(const float* x, int64_t n) {
  const Vec lowest = Splat(-__builtin_inff());
  Vec a = lowest, b = lowest, c = lowest, d = lowest;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a = Max(Load(x + i), a);
    b = Max(Load(x + i + kLanes), b);
    c = Max(Load(x + i + 2 * kLanes), c);
    d = Max(Load(x + i + 3 * kLanes), d);
  }
  for (; i + kLanes <= n; i += kLanes) a = Max(Load(x + i), a);
  if (i < n) b = Max(LoadSome(x + i, n - i, -__builtin_inff()), b);
  return MaxOfLanes(Max(Max(a, b), Max(c, d)));
}

constexpr int64_t kBlock = 1024;  // elements whose sum is kept in single precision

// The sum of exp(x - max), written to y unless it is null.
INFERD_INLINE double ExpSum(const float* x, float* y, int64_t n, float max) {
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n - begin < kBlock ? n : begin + kBlock;
    Vec a = {}, b = {};
    int64_t i = begin;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      const Vec e = ExpOf(Load(x + i) - max), f = ExpOf(Load(x + i + kLanes) - max);
      if (y != nullptr) Store(y + i, e), Store(y + i + kLanes, f);
      a += e;
      b += f;
    }
    for (; i < end; i += kLanes) {
      if (end - i >= kLanes) {
        const Vec e = ExpOf(Load(x + i) - max);
        if (y != nullptr) Store(y + i, e);
        a += e;
      } else {
        // Lanes behind the end add nothing, unless the maximum is the lowest too: NaN then anyway.
        const Vec e = ExpOf(LoadSome(x + i, end - i, -__builtin_inff()) - max);
        if (y != nullptr) StoreSome(y + i, end - i, e);
        b += e;
      }
    }
    sum += SumOfLanes(a + b);
  }
  return sum;
}

static void Softmax(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const double sum = ExpSum(x, y, n, RowMax(x, n));
    const float scale = static_cast<float>(1.0 / sum);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) Store(y + i, Load(y + i) * scale);
    for (; i < n; ++i) y[i] *= scale;
  }
}

// Subtracts in two steps: the first one cancels exactly what is near the maximum.
static void LogSoftmax(const float* x, float* y, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const float max = RowMax(x, n);
    const float log_sum = static_cast<float>(__builtin_log(ExpSum(x, nullptr, n, max)));
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) Store(y + i, (Load(x + i) - max) - log_sum);
    for (; i < n; ++i) y[i] = (x[i] - max) - log_sum;
  }
}

INFERD_INLINE void Columns(const float* x, float* y, int64_t n, int64_t stride, int64_t columns,
                           bool log) {
  float max[kSoftmaxColumns];
  double sum[kSoftmaxColumns] = {};
  for (int64_t j = 0; j < columns; ++j) max[j] = -__builtin_inff();
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x + i * stride;
    INFERD_IVDEP
    for (int64_t j = 0; j < columns; ++j) max[j] = row[j] > max[j] ? row[j] : max[j];
  }
  for (int64_t begin = 0; begin < n; begin += 16) {
    const int64_t end = n - begin < 16 ? n : begin + 16;
    float part[kSoftmaxColumns] = {};
    for (int64_t i = begin; i < end; ++i) {
      const float* row = x + i * stride;
      float* out = y + i * stride;
      int64_t j = 0;
      for (; j < columns; j += kLanes) {
        if (columns - j >= kLanes) {
          const Vec e = ExpOf(Load(row + j) - Load(max + j));
          if (!log) Store(out + j, e);
          Store(part + j, Load(part + j) + e);
        } else {
          const int64_t left = columns - j;
          const Vec e = ExpOf(LoadSome(row + j, left, 0) - LoadSome(max + j, left, 0));
          if (!log) StoreSome(out + j, left, e);
          StoreSome(part + j, left, LoadSome(part + j, left, 0) + e);
        }
      }
    }
    for (int64_t j = 0; j < columns; ++j) sum[j] += part[j];
  }
  float last[kSoftmaxColumns];
  for (int64_t j = 0; j < columns; ++j) {
    last[j] = static_cast<float>(log ? __builtin_log(sum[j]) : 1.0 / sum[j]);
  }
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x + i * stride;
    float* out = y + i * stride;
    if (log) {
      INFERD_IVDEP
      for (int64_t j = 0; j < columns; ++j) out[j] = (row[j] - max[j]) - last[j];
    } else {
      INFERD_IVDEP
      for (int64_t j = 0; j < columns; ++j) out[j] *= last[j];
    }
  }
}

static void SoftmaxColumns(const float* x, float* y, int64_t n, int64_t stride, int64_t columns) {
  Columns(x, y, n, stride, columns, false);
}
static void LogSoftmaxColumns(const float* x, float* y, int64_t n, int64_t stride,
                              int64_t columns) {
  Columns(x, y, n, stride, columns, true);
}

static constexpr SoftmaxKernels kKernels = {INFERD_ISA_NAME, Softmax, LogSoftmax, SoftmaxColumns,
                                            LogSoftmaxColumns};

#undef INFERD_INLINE

}  // namespace INFERD_ISA
