// The bodies of vector/kernels.h, included once per instruction set by kernels.cc with
// INFERD_ISA naming the namespace and the compiler's target set around it. Everything here is
// internal to that namespace: a function compiled for AVX must never be the one copy the linker
// keeps of an inline function. So: no templates, no lambdas, no standard library beyond builtins
// and libm calls.
namespace INFERD_ISA {

#include "engine/kernel/float_functions-inl.h"  // NOLINT

// The sigmoid, but 0 where it would not be a normal number.
INFERD_INLINE float SigmoidOrZero(float x) {
  const float e = ExpOfNegative(x < 0.0f ? x : -x);
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

// (1 + tanh(u)) / 2 is the sigmoid of 2 u, which does not cancel for negative u.
INFERD_INLINE float GeluTanh(float x) {
  return x * SigmoidOrZero(1.5957691216057308f * (x + 0.044715f * x * x * x));
}

// log(1 + u) for 0 <= u <= 1 to within 2 ulp: twice the inverse hyperbolic tangent of u / (2 + u),
// which is at most a third.
INFERD_INLINE float Log1p(float u) {
  const float s = u / (2.0f + u);
  const float q = s * s;
  float p = 1.0f / 15.0f;
  p = p * q + 1.0f / 13.0f;
  p = p * q + 1.0f / 11.0f;
  p = p * q + 1.0f / 9.0f;
  p = p * q + 1.0f / 7.0f;
  p = p * q + 1.0f / 5.0f;
  p = p * q + 1.0f / 3.0f;
  return 2.0f * (s + s * q * p);
}

INFERD_INLINE float Softplus(float x) {
  return (x > 0.0f ? x : 0.0f) + Log1p(Exp(x > 0.0f ? -x : x));
}

// x tanh(log(1 + e^x)) = x n / (n + 2) where n = e^x (e^x + 2); from 20 on that is x.
INFERD_INLINE float Mish(float x) {
  const float e = Exp(x > 20.0f ? 20.0f : x);
  const float n = e * (e + 2.0f);
  return x < -103.0f ? -0.0f : x * (n / (n + 2.0f));
}

// erf(x) / x - 1 as a polynomial of s = x^2 for |x| <= 1; near minimax, 2^-29.
INFERD_INLINE float ErfNear(float s) {
  float p = 7.854025e-05f;
  p = p * s - 0.0008010247f;
  p = p * s + 0.0051883343f;
  p = p * s - 0.026853817f;
  p = p * s + 0.112835854f;
  p = p * s - 0.37612626f;
  return p * s + 0.12837917f;
}

// 1 - erf(t) for t >= 1 as e^-g(t): near minimax below 4.3, where the error is at most 1.3e-6 of
// it, and small enough that it makes no difference to 1 beyond.
INFERD_INLINE float ErfcFar(float t) {
  float g = 1.31055795e-05f;
  g = g * t - 0.0003161405f;
  g = g * t + 0.0034421487f;
  g = g * t - 0.022703249f;
  g = g * t + 0.10363431f;
  g = g * t + 0.63852304f;
  g = g * t + 1.1264206f;
  g = g * t + 0.0005916877f;
  return ExpOfNegative(-g);
}

// To within 3 ulp.
INFERD_INLINE float Erf(float x) {
  const float t = __builtin_fabsf(x);
  const float c = t > 12.0f ? 12.0f : t;
  const float near = x + x * ErfNear(x * x);
  const float far = __builtin_copysignf(1.0f - ErfcFar(c), x);
  return t < 1.0f ? near : far;
}

// x Phi(x) to within 2^-22 |x|. For negative x by the complement, which does not cancel.
INFERD_INLINE float Gelu(float x) {
  const float v = x < -20.0f ? -20.0f : x;
  const float t = v * 0.70710678118654752f;
  const float size = __builtin_fabsf(t);
  const float c = size > 12.0f ? 12.0f : size;
  const float near = 0.5f + 0.5f * (t + t * ErfNear(t * t));
  const float half = 0.5f * ErfcFar(c);
  const float far = v > 0.0f ? 1.0f - half : half;
  return v * (size < 1.0f ? near : far);
}

#define INFERD_UNARY(name, expression)                                            \
  static void name(const float* x, float* y, int64_t n, [[maybe_unused]] float a, \
                   [[maybe_unused]] float b) {                                    \
    INFERD_IVDEP                                                                  \
    for (int64_t i = 0; i < n; ++i) {                                             \
      const float v = x[i];                                                       \
      y[i] = expression;                                                          \
    }                                                                             \
  }
INFERD_UNARY(UnaryRelu, v < 0.0f ? 0.0f : v)
INFERD_UNARY(UnaryLeakyRelu, v < 0.0f ? a * v : v)
INFERD_INLINE float ClipTo(float v, float a, float b) {
  const float low = v < a ? a : v;
  return low > b ? b : low;
}
INFERD_UNARY(UnaryClip, ClipTo(v, a, b))
INFERD_UNARY(UnarySigmoid, Sigmoid(v))
INFERD_UNARY(UnaryTanh, Tanh(v))
INFERD_UNARY(UnaryElu, v < 0.0f ? a * Expm1(v) : v)
INFERD_UNARY(UnaryHardSigmoid, Clamp01(a* v + b))
INFERD_UNARY(UnaryHardSwish, v* Clamp01(v / 6.0f + 0.5f))
INFERD_UNARY(UnarySilu, v* SigmoidOrZero(v))
INFERD_UNARY(UnaryGelu, Gelu(v))
INFERD_UNARY(UnaryErf, Erf(v))
INFERD_UNARY(UnaryQuickGelu, v* SigmoidOrZero(a* v))
INFERD_UNARY(UnaryGeluTanh, GeluTanh(v))
INFERD_UNARY(UnarySoftplus, Softplus(v))
INFERD_UNARY(UnaryMish, Mish(v))
INFERD_UNARY(UnaryAbs, __builtin_fabsf(v))
INFERD_UNARY(UnaryNeg, -v)
INFERD_UNARY(UnarySqrt, __builtin_sqrtf(v))
INFERD_UNARY(UnaryExp, Exp(v))
INFERD_UNARY(UnaryReciprocal, 1.0f / v)
INFERD_UNARY(UnaryFloor, __builtin_floorf(v))
INFERD_UNARY(UnaryCeil, __builtin_ceilf(v))

#define INFERD_BINARY(name, expression)                                               \
  static void name(const float* p, const float* q, float* y, int64_t n) {             \
    INFERD_IVDEP                                                                      \
    for (int64_t i = 0; i < n; ++i) {                                                 \
      const float a = p[i], b = q[i];                                                 \
      y[i] = expression;                                                              \
    }                                                                                 \
  }                                                                                   \
  static void name##Lane1(const float* p, const float* q, float* y, int64_t n) {      \
    const float b = q[0];                                                             \
    INFERD_IVDEP                                                                      \
    for (int64_t i = 0; i < n; ++i) {                                                 \
      const float a = p[i];                                                           \
      y[i] = expression;                                                              \
    }                                                                                 \
  }                                                                                   \
  static void name##Exchanged1(const float* p, const float* q, float* y, int64_t n) { \
    const float a = q[0];                                                             \
    INFERD_IVDEP                                                                      \
    for (int64_t i = 0; i < n; ++i) {                                                 \
      const float b = p[i];                                                           \
      y[i] = expression;                                                              \
    }                                                                                 \
  }                                                                                   \
  INFERD_BINARY_LANES(name, 8, expression)                                            \
  INFERD_BINARY_LANES(name, 16, expression)

#define INFERD_BINARY_LANES(name, lanes, expression)                                        \
  static void name##Lane##lanes(const float* p, const float* q, float* y, int64_t n) {      \
    float v[lanes];                                                                         \
    for (int l = 0; l < lanes; ++l) v[l] = q[l];                                            \
    for (int64_t i = 0; i < n; i += lanes) {                                                \
      INFERD_IVDEP                                                                          \
      for (int l = 0; l < lanes; ++l) {                                                     \
        const float a = p[i + l], b = v[l];                                                 \
        y[i + l] = expression;                                                              \
      }                                                                                     \
    }                                                                                       \
  }                                                                                         \
  static void name##Exchanged##lanes(const float* p, const float* q, float* y, int64_t n) { \
    float v[lanes];                                                                         \
    for (int l = 0; l < lanes; ++l) v[l] = q[l];                                            \
    for (int64_t i = 0; i < n; i += lanes) {                                                \
      INFERD_IVDEP                                                                          \
      for (int l = 0; l < lanes; ++l) {                                                     \
        const float a = v[l], b = p[i + l];                                                 \
        y[i + l] = expression;                                                              \
      }                                                                                     \
    }                                                                                       \
  }

INFERD_BINARY(BinaryAdd, a + b)
INFERD_BINARY(BinarySub, a - b)
INFERD_BINARY(BinaryMul, a* b)
INFERD_BINARY(BinaryDiv, a / b)
// A NaN in either operand gives NaN.
INFERD_BINARY(BinaryMax, (a > b) | (a != a) ? a : b)
INFERD_BINARY(BinaryMin, (a < b) | (a != a) ? a : b)
INFERD_BINARY(BinaryPRelu, a < 0.0f ? a * b : a)

#define INFERD_LANE_LOOPS(lanes)                                                                  \
  static void ScaleShift##lanes(const float* x, const float* scale, const float* shift, float* y, \
                                int64_t n) {                                                      \
    float s[lanes], t[lanes];                                                                     \
    for (int l = 0; l < lanes; ++l) s[l] = scale[l], t[l] = shift[l];                             \
    for (int64_t i = 0; i < n; i += lanes) {                                                      \
      INFERD_IVDEP                                                                                \
      for (int l = 0; l < lanes; ++l) y[i + l] = x[i + l] * s[l] + t[l];                          \
    }                                                                                             \
  }                                                                                               \
  static void Sum##lanes(const float* x, int64_t positions, float* sums) {                        \
    /* Four partial sums: shorter dependency chains and smaller rounding errors. */               \
    float part[4 * lanes] = {};                                                                   \
    int64_t i = 0;                                                                                \
    for (; i + 4 <= positions; i += 4) {                                                          \
      for (int l = 0; l < 4 * lanes; ++l) part[l] += x[i * lanes + l];                            \
    }                                                                                             \
    for (; i < positions; ++i) {                                                                  \
      for (int l = 0; l < lanes; ++l) part[l] += x[i * lanes + l];                                \
    }                                                                                             \
    for (int l = 0; l < lanes; ++l) {                                                             \
      sums[l] = (part[l] + part[lanes + l]) + (part[2 * lanes + l] + part[3 * lanes + l]);        \
    }                                                                                             \
  }
INFERD_LANE_LOOPS(8)
INFERD_LANE_LOOPS(16)

static void ScaleShift1(const float* x, const float* scale, const float* shift, float* y,
                        int64_t n) {
  const float s = *scale, t = *shift;
  INFERD_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * s + t;
}

static void Sum1(const float* x, int64_t positions, float* sums) {
  float part[16];
  const int64_t whole = positions / 16;
  Sum16(x, whole, part);
  float sum = 0;
  for (int l = 0; l < 16; ++l) sum += part[l];
  for (int64_t i = whole * 16; i < positions; ++i) sum += x[i];
  *sums = sum;
}

// A tile keeps one accumulator per position in registers: every input value is broadcast once and
// every weight vector loaded once per tile.
#define INFERD_POINTWISE_TILE(lanes, tile)                                                        \
  INFERD_INLINE void PointwiseTile##lanes##x##tile(const float* x, int64_t block_stride,          \
                                                   int64_t first, int64_t count, const float* w,  \
                                                   const float* bias, const float* z, float* y) { \
    typedef float Vector __attribute__((vector_size(4 * lanes), aligned(4), may_alias));          \
    Vector sums[tile];                                                                            \
    const Vector b = *reinterpret_cast<const Vector*>(bias);                                      \
    INFERD_UNROLL for (int t = 0; t < tile; ++t) sums[t] = b;                                     \
    if (z != nullptr) {                                                                           \
      INFERD_UNROLL for (int t = 0; t < tile; ++t) {                                              \
        sums[t] += *reinterpret_cast<const Vector*>(z + t * lanes);                               \
      }                                                                                           \
    }                                                                                             \
    for (int64_t c = first; c < first + count; ++c, w += lanes) {                                 \
      const Vector v = *reinterpret_cast<const Vector*>(w);                                       \
      const float* p = x + c / lanes * block_stride + c % lanes;                                  \
      INFERD_UNROLL for (int t = 0; t < tile; ++t) sums[t] += p[t * lanes] * v;                   \
    }                                                                                             \
    INFERD_UNROLL for (int t = 0; t < tile; ++t) {                                                \
      *reinterpret_cast<Vector*>(y + t * lanes) = sums[t];                                        \
    }                                                                                             \
  }

#define INFERD_POINTWISE(lanes, tile)                                                              \
  INFERD_POINTWISE_TILE(lanes, tile)                                                               \
  INFERD_POINTWISE_TILE(lanes, 4)                                                                  \
  INFERD_POINTWISE_TILE(lanes, 1)                                                                  \
  static void Pointwise##lanes(const float* x, int64_t block_stride, int64_t first, int64_t count, \
                               const float* w, const float* bias, const float* z, float* y,        \
                               int64_t positions) {                                                \
    int64_t p = 0;                                                                                 \
    for (; p + tile <= positions; p += tile) {                                                     \
      PointwiseTile##lanes##x##tile(x + p * lanes, block_stride, first, count, w, bias,            \
                                    z == nullptr ? z : z + p * lanes, y + p * lanes);              \
    }                                                                                              \
    for (; p + 4 <= positions; p += 4) {                                                           \
      PointwiseTile##lanes##x4(x + p * lanes, block_stride, first, count, w, bias,                 \
                               z == nullptr ? z : z + p * lanes, y + p * lanes);                   \
    }                                                                                              \
    for (; p < positions; ++p) {                                                                   \
      PointwiseTile##lanes##x1(x + p * lanes, block_stride, first, count, w, bias,                 \
                               z == nullptr ? z : z + p * lanes, y + p * lanes);                   \
    }                                                                                              \
  }
// 16 registers of 8 lanes leave 14 accumulators; blocks of 16 go with 32 registers of 16 lanes.
INFERD_POINTWISE(8, 14)
INFERD_POINTWISE(16, 28)

typedef float Vector16 __attribute__((vector_size(64), aligned(4), may_alias));

INFERD_INLINE float SumOf(const Vector16* v) {
  float lanes[16];
  __builtin_memcpy(lanes, v, sizeof(lanes));
  float sums[4] = {};
  for (int i = 0; i < 16; ++i) sums[i % 4] += lanes[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void DotRows(const float* x, const float* w, int64_t stride, int64_t rows, int64_t n,
                    float* y) {
  const int64_t whole = n / 16 * 16;
  int64_t r = 0;
  // Four rows at a time: four streams from memory, and x is loaded once for all.
  for (; r + 4 <= rows; r += 4, w += 4 * stride) {
    Vector16 a = {}, b = {}, c = {}, d = {};
    for (int64_t i = 0; i < whole; i += 16) {
      const Vector16 v = *reinterpret_cast<const Vector16*>(x + i);
      a += v * *reinterpret_cast<const Vector16*>(w + i);
      b += v * *reinterpret_cast<const Vector16*>(w + stride + i);
      c += v * *reinterpret_cast<const Vector16*>(w + 2 * stride + i);
      d += v * *reinterpret_cast<const Vector16*>(w + 3 * stride + i);
    }
    float sums[4] = {SumOf(&a), SumOf(&b), SumOf(&c), SumOf(&d)};
    for (int64_t i = whole; i < n; ++i) {
      for (int q = 0; q < 4; ++q) sums[q] += x[i] * w[q * stride + i];
    }
    for (int q = 0; q < 4; ++q) y[r + q] = sums[q];
  }
  for (; r < rows; ++r, w += stride) {
    Vector16 a = {};
    for (int64_t i = 0; i < whole; i += 16) {
      a += *reinterpret_cast<const Vector16*>(x + i) * *reinterpret_cast<const Vector16*>(w + i);
    }
    float sum = SumOf(&a);
    for (int64_t i = whole; i < n; ++i) sum += x[i] * w[i];
    y[r] = sum;
  }
}

static void CombineRows(const float* x, const float* w, int64_t stride, int64_t rows, int64_t n,
                        float* y) {
  for (int64_t j = 0; j < n; ++j) y[j] = 0.0f;
  int64_t r = 0;
  // Four rows at a time, so that y is loaded and stored once for four of them.
  for (; r + 4 <= rows; r += 4, w += 4 * stride) {
    const float a = x[r], b = x[r + 1], c = x[r + 2], d = x[r + 3];
    INFERD_IVDEP
    for (int64_t j = 0; j < n; ++j) {
      y[j] += (a * w[j] + b * w[stride + j]) + (c * w[2 * stride + j] + d * w[3 * stride + j]);
    }
  }
  for (; r < rows; ++r, w += stride) {
    const float a = x[r];
    INFERD_IVDEP
    for (int64_t j = 0; j < n; ++j) y[j] += a * w[j];
  }
}

#define INFERD_BINARY_TABLE(suffix)                                                                \
  {                                                                                                \
    BinaryAdd##suffix, BinarySub##suffix, BinaryMul##suffix, BinaryDiv##suffix, BinaryMax##suffix, \
        BinaryMin##suffix, BinaryPRelu##suffix                                                     \
  }

static constexpr VectorKernels kKernels = {
    INFERD_ISA_NAME,
    {UnaryRelu,        UnaryLeakyRelu, UnaryClip, UnarySigmoid,  UnaryTanh,     UnaryElu,
     UnaryHardSigmoid, UnaryHardSwish, UnarySilu, UnaryGelu,     UnaryGeluTanh, UnarySoftplus,
     UnaryMish,        UnaryAbs,       UnaryNeg,  UnarySqrt,     UnaryExp,      UnaryReciprocal,
     UnaryFloor,       UnaryCeil,      UnaryErf,  UnaryQuickGelu},
    INFERD_BINARY_TABLE(),
    {INFERD_BINARY_TABLE(Lane1), INFERD_BINARY_TABLE(Lane8), INFERD_BINARY_TABLE(Lane16)},
    {INFERD_BINARY_TABLE(Exchanged1), INFERD_BINARY_TABLE(Exchanged8),
     INFERD_BINARY_TABLE(Exchanged16)},
    {ScaleShift1, ScaleShift8, ScaleShift16},
    {Sum1, Sum8, Sum16},
    {nullptr, Pointwise8, Pointwise16},
    DotRows,
    CombineRows,
};

#undef INFERD_POINTWISE
#undef INFERD_POINTWISE_TILE
#undef INFERD_BINARY_TABLE
#undef INFERD_LANE_LOOPS
#undef INFERD_BINARY_LANES
#undef INFERD_BINARY
#undef INFERD_UNARY
#undef INFERD_INLINE

}  // namespace INFERD_ISA
