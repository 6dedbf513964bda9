// Exponential functions of one float, written so that a loop over them is vectorized. Included
// inside a namespace per instruction set by the files that compile their loops once for each:
// everything here is internal to that namespace, since a function compiled for AVX must never be
// the one copy the linker keeps of an inline function.
#undef INFERD_INLINE
#define INFERD_INLINE static inline __attribute__((always_inline))

// e^x to within 2 ulp, without branches. Reduction x = n ln 2 + r with ln 2 in two parts, then the
// Taylor-like polynomial of degree 7 on |r| <= ln(2) / 2, then 2^n in two factors so that results
// near overflow and denormal ones come out right.
constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2High = 0.693359375f;  // 355 / 512: n * kLn2High is exact
constexpr float kLn2Low = -2.12194440e-4f;
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer

// e^r - 1 - r for |r| <= 0.35.
INFERD_INLINE float ExpTail(float r) {
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  return p * r * r;
}

INFERD_INLINE float PowerOfTwo(int n) { return __builtin_bit_cast(float, (n + 127) << 23); }

INFERD_INLINE float Exp(float x) {
  const float low = x < -104.0f ? -104.0f : x;  // a NaN stays one
  const float c = low > 89.0f ? 89.0f : low;
  const float n = (c * kLog2E + kRound) - kRound;
  const float r = (c - n * kLn2High) - n * kLn2Low;
  const float p = 1.0f + (r + ExpTail(r));
  const int whole = static_cast<int>(n);
  const int half = whole >> 1;
  return p * PowerOfTwo(half) * PowerOfTwo(whole - half);
}

// The same for x <= 0, but 0 where the result would not be a normal number: n + 127 is read off the
// last bits of the sum that rounds, and 0 there makes a factor 0.
struct ReducedExponent {
  float power;  // 2^n
  float r;
};
INFERD_INLINE ReducedExponent ReduceNegative(float x) {
  const float c = x < -88.0f ? -88.0f : x;
  const float rounded = c * kLog2E + (kRound + 127.0f);
  const float n = rounded - (kRound + 127.0f);
  const unsigned bits = __builtin_bit_cast(unsigned, rounded) << 23;
  return {__builtin_bit_cast(float, bits), (c - n * kLn2High) - n * kLn2Low};
}

INFERD_INLINE float ExpOfNegative(float x) {
  const ReducedExponent e = ReduceNegative(x);
  return (1.0f + (e.r + ExpTail(e.r))) * e.power;
}

// e^x - 1 for x <= 0: what is near 0 is not first added to 1.
INFERD_INLINE float Expm1OfNegative(float x) {
  const ReducedExponent e = ReduceNegative(x);
  return (e.r + ExpTail(e.r)) * e.power + (e.power - 1.0f);
}

// e^x - 1 for x <= 20, without the cancellation near 0.
INFERD_INLINE float Expm1(float x) {
  const float small = x + ExpTail(x);
  const float large = Exp(x) - 1.0f;
  return (x > -0.34f) & (x < 0.34f) ? small : large;
}

// From t = e^(-2|x|) - 1, which cannot overflow: -t / (t + 2).
INFERD_INLINE float Tanh(float x) {
  const float t = Expm1OfNegative(-2.0f * __builtin_fabsf(x));
  return __builtin_copysignf(t / (t + 2.0f), x);
}

INFERD_INLINE float Sigmoid(float x) {
  const float e = Exp(x < 0.0f ? x : -x);
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

INFERD_INLINE float Clamp01(float y) {
  const float low = y < 0.0f ? 0.0f : y;
  return low > 1.0f ? 1.0f : low;
}
