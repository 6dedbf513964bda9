// The bodies of vector/normalize_rows.h; see each_isa-inl.h.
namespace INFERD_ISA {

#include "engine/providers/cpu/vector/vector_math-inl.h"  // NOLINT

constexpr int64_t kBlock = 2048;  // elements summed in single precision, in many lanes

INFERD_INLINE double Sum(const float* x, int64_t n) {
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n - begin < kBlock ? n : begin + kBlock;
    Vec a = {}, b = {}, c = {}, d = {};
    int64_t i = begin;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      a += Load(x + i);
      b += Load(x + i + kLanes);
      c += Load(x + i + 2 * kLanes);
      d += Load(x + i + 3 * kLanes);
    }
    for (; i + kLanes <= end; i += kLanes) a += Load(x + i);
    if (i < end) b += LoadSome(x + i, end - i, 0.0f);
    sum += SumOfLanes((a + b) + (c + d));
  }
  return sum;
}

// Sums of d = x - center and of its square.
INFERD_INLINE void Moments(const float* x, int64_t n, float center, double* first, double* second) {
  *first = *second = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = n - begin < kBlock ? n : begin + kBlock;
    Vec a = {}, b = {}, aa = {}, bb = {};
    int64_t i = begin;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      const Vec d = Load(x + i) - center, e = Load(x + i + kLanes) - center;
      a += d;
      b += e;
      aa += d * d;
      bb += e * e;
    }
    for (; i < end; i += kLanes) {
      const Vec v = end - i >= kLanes ? Load(x + i) : LoadSome(x + i, end - i, center);
      const Vec d = v - center;
      a += d;
      aa += d * d;
    }
    *first += SumOfLanes(a + b);
    *second += SumOfLanes(aa + bb);
  }
}

// y = ((x - center) * inverse + offset) * scale + shift
INFERD_INLINE void Apply(const RowNormalization& form, const float* x, float* y, float center,
                         float inverse, float offset) {
  const float *scale = form.scale, *shift = form.shift;
  int64_t i = 0;
  if (shift != nullptr) {
    for (; i + kLanes <= form.n; i += kLanes) {
      const Vec normal = (Load(x + i) - center) * inverse + offset;
      Store(y + i, normal * Load(scale + i) + Load(shift + i));
    }
  } else {
    for (; i + kLanes <= form.n; i += kLanes) {
      Store(y + i, ((Load(x + i) - center) * inverse + offset) * Load(scale + i));
    }
  }
  for (; i < form.n; ++i) {
    y[i] = ((x[i] - center) * inverse + offset) * scale[i] + (shift != nullptr ? shift[i] : 0.0f);
  }
}

static RowMoments Normalize(const RowNormalization& form, const float* x, float* y) {
  const double n = static_cast<double>(form.n);
  const float center = form.centred ? static_cast<float>(Sum(x, form.n) / n) : 0.0f;
  double first, second;
  Moments(x, form.n, center, &first, &second);
  // What rounding of the sum left in the mean.
  const double rest = form.centred ? first / n : 0.0;
  const double variance = second / n - rest * rest;
  const double inverse = 1.0 / __builtin_sqrt((variance < 0 ? 0 : variance) + form.epsilon);
  Apply(form, x, y, center, static_cast<float>(inverse), static_cast<float>(-rest * inverse));
  return {static_cast<float>(center + rest), static_cast<float>(inverse)};
}

static void Add(const float* a, const float* b, const float* c, float* sum, int64_t n) {
  if (c == nullptr) {
    INFERD_IVDEP
    for (int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
  } else {
    INFERD_IVDEP
    for (int64_t i = 0; i < n; ++i) sum[i] = (a[i] + b[i]) + c[i];
  }
}

static constexpr NormalizeKernels kKernels = {INFERD_ISA_NAME, Normalize, Add};

#undef INFERD_INLINE

}  // namespace INFERD_ISA
