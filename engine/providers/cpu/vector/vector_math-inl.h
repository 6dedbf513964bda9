// Registers of floats and functions of them, included inside a namespace per instruction set: see
// each_isa-inl.h. The exponential is that of kernel/float_functions-inl.h, lane by lane.
#undef INFERD_INLINE
#define INFERD_INLINE static inline __attribute__((always_inline))

typedef float Vec __attribute__((vector_size(4 * INFERD_LANES), aligned(4), may_alias));
typedef int VecInt __attribute__((vector_size(4 * INFERD_LANES), aligned(4), may_alias));

constexpr int kLanes = INFERD_LANES;

INFERD_INLINE Vec Load(const float* p) { return *reinterpret_cast<const Vec*>(p); }
INFERD_INLINE void Store(float* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
INFERD_INLINE Vec Splat(float f) { return f - Vec{}; }
// The first n < kLanes of p, `rest` behind them.
INFERD_INLINE Vec LoadSome(const float* p, int64_t n, float rest) {
  Vec v = Splat(rest);
  __builtin_memcpy(&v, p, n * sizeof(float));
  return v;
}
INFERD_INLINE void StoreSome(float* p, int64_t n, Vec v) {
  __builtin_memcpy(p, &v, n * sizeof(float));
}
// As the machine's instruction: b where either is NaN.
INFERD_INLINE Vec Max(Vec a, Vec b) { return a > b ? a : b; }
INFERD_INLINE Vec Min(Vec a, Vec b) { return a < b ? a : b; }

INFERD_INLINE double SumOfLanes(Vec v) {
  float lanes[kLanes];
  __builtin_memcpy(lanes, &v, sizeof(lanes));
  double sums[4] = {};
  for (int i = 0; i < kLanes; ++i) sums[i % 4] += lanes[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}
INFERD_INLINE float MaxOfLanes(Vec v) {
  float lanes[kLanes];
  __builtin_memcpy(lanes, &v, sizeof(lanes));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) {
      lanes[i] = lanes[i] > lanes[i + width] ? lanes[i] : lanes[i + width];
    }
  }
  return lanes[0];
}

// e^x for x <= 88 to within 2 ulp, 0 below about -104.
INFERD_INLINE Vec ExpOf(Vec x) {
  // Max keeps its second argument where it is NaN.
  const Vec c = Max(Splat(-104.0f), x);
  const Vec n = (c * 1.44269504088896341f + 12582912.0f) - 12582912.0f;
  const Vec r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec p = r * (1.0f / 5040.0f) + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = 1.0f + (r + p * r * r);
  const VecInt whole = __builtin_convertvector(n, VecInt);
  // In two factors, so that denormal results come out right.
  const VecInt half = whole >> 1;
  const VecInt low = (half + 127) << 23, high = (whole - half + 127) << 23;
  return p * reinterpret_cast<const Vec&>(low) * reinterpret_cast<const Vec&>(high);
}
