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

typedef float Quad __attribute__((vector_size(16), may_alias));

INFERD_INLINE double SumOfLanes(Vec v) {
  Quad quads[kLanes / 4];
  __builtin_memcpy(quads, &v, sizeof(quads));
  INFERD_UNROLL for (int width = kLanes / 8; width > 0; width /= 2) {
    INFERD_UNROLL for (int i = 0; i < width; ++i) quads[i] += quads[i + width];
  }
  const Quad q = quads[0];
  return (static_cast<double>(q[0]) + q[1]) + (static_cast<double>(q[2]) + q[3]);
}
INFERD_INLINE float MaxOfLanes(Vec v) {
  Quad quads[kLanes / 4];
  __builtin_memcpy(quads, &v, sizeof(quads));
  INFERD_UNROLL for (int width = kLanes / 8; width > 0; width /= 2) {
    INFERD_UNROLL for (int i = 0; i < width; ++i) {
      quads[i] = quads[i] > quads[i + width] ? quads[i] : quads[i + width];
    }
  }
  const Quad q = quads[0];
  const float a = q[0] > q[1] ? q[0] : q[1], b = q[2] > q[3] ? q[2] : q[3];
  return a > b ? a : b;
}

// e^x for x <= 0 to within 2 ulp; 0 where it would not be a normal number. As Exp, but for the power
// of two: n + 127 is read off the last bits of the sum that rounds, and 0 there makes a factor 0.
INFERD_INLINE Vec ExpOf(Vec x) {
  // Max keeps its second argument where it is NaN.
  const Vec c = Max(Splat(-88.0f), x);
  const Vec rounded = c * 1.44269504088896341f + (12582912.0f + 127.0f);
  const Vec n = rounded - (12582912.0f + 127.0f);
  const Vec r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  Vec p = r * (1.0f / 5040.0f) + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const VecInt power = reinterpret_cast<const VecInt&>(rounded) << 23;
  return p * reinterpret_cast<const Vec&>(power);
}
