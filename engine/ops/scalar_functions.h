// The scalar mathematics of elementwise operators, as functors on the compute type (float,
// double or an integer type; 16-bit floats are widened to float first). Shared by the reference
// kernels and by faster candidates that loop over other layouts.
//
// Integer arithmetic wraps modulo 2^n. Division and remainder by zero are excluded by the caller.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

namespace inferd::engine::scalar {

// Unsigned arithmetic of at least int's width: wrapping without undefined behaviour, and without
// the promotion of uint16_t to int.
template <typename T>
using Wrapping =
    std::conditional_t<(sizeof(T) < sizeof(unsigned)), unsigned, std::make_unsigned_t<T>>;

// ---- Binary arithmetic ----

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};
struct Sub {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    } else {
      return a - b;
    }
  }
};
struct Mul {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};
// Integers: truncation toward zero; the lowest value by -1 wraps to itself.
struct Div {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      if (b == -1) return Sub{}(T{0}, a);
    }
    return static_cast<T>(a / b);
  }
};
// C's fmod: the sign of the dividend.
struct Fmod {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return T{0};
      }
      return static_cast<T>(a % b);
    }
  }
};
// Python's %: the sign of the divisor.
struct FloorMod {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T r = std::fmod(a, b);
      if (r == 0) return std::copysign(r, b);
      return (r < 0) != (b < 0) ? r + b : r;
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return T{0};
        const T r = static_cast<T>(a % b);
        return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
      } else {
        return static_cast<T>(a % b);
      }
    }
  }
};
// Integer base and exponent: repeated squaring that wraps; a negative exponent truncates 1 / x^n
// toward zero (0 has no reciprocal and gives 0). A floating exponent is taken in double.
struct Pow {
  template <typename T, typename E>
  T operator()(T base, E exponent) const {
    if constexpr (std::is_floating_point_v<T>) {
      if constexpr (std::is_same_v<T, float> && std::is_same_v<E, float>) {
        return std::pow(base, exponent);
      } else {
        return static_cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
      }
    } else if constexpr (std::is_integral_v<E>) {
      if constexpr (std::is_signed_v<E>) {
        if (exponent < 0) {
          if (base == 1) return T{1};
          if constexpr (std::is_signed_v<T>) {
            if (base == -1) return exponent % 2 == 0 ? T{1} : T{-1};
          }
          return T{0};
        }
      }
      Wrapping<T> result = 1, factor = static_cast<Wrapping<T>>(base);
      for (auto n = static_cast<std::make_unsigned_t<E>>(exponent); n != 0; n >>= 1) {
        if (n & 1) result *= factor;
        factor *= factor;
      }
      return static_cast<T>(result);
    } else {
      const double value = std::pow(static_cast<double>(base), static_cast<double>(exponent));
      // Conversion outside the type's range would be undefined: clamp.
      if (std::isnan(value)) return T{0};
      if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
        return std::numeric_limits<T>::max();
      }
      if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
        return std::numeric_limits<T>::min();
      }
      return static_cast<T>(value);
    }
  }
};
// NaN in either operand gives NaN, as in NumPy.
struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    return a > b || a != a ? a : b;
  }
};
struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    return a < b || a != a ? a : b;
  }
};
struct PRelu {
  template <typename T>
  T operator()(T x, T slope) const {
    if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {
      return x < 0 ? Mul{}(x, slope) : x;
    }
  }
};

// ---- Unary mathematics ----

struct Abs {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::abs(x);
    } else if constexpr (std::is_signed_v<T>) {
      return x < 0 ? Sub{}(T{0}, x) : x;
    } else {
      return x;
    }
  }
};
struct Neg {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return Sub{}(T{0}, x);
    }
  }
};
struct Sign {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x) return x;
    }
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(x > 0);
    } else {
      return static_cast<T>((x > 0) - (x < 0));
    }
  }
};
// Halves go to the even neighbour.
struct Round {
  template <typename T>
  T operator()(T x) const {
    return std::nearbyint(x);
  }
};

#define INFERD_SCALAR_FUNCTION(Name, expression) \
  struct Name {                                  \
    template <typename T>                        \
    T operator()(T x) const {                    \
      return expression;                         \
    }                                            \
  }
INFERD_SCALAR_FUNCTION(Ceil, std::ceil(x));
INFERD_SCALAR_FUNCTION(Floor, std::floor(x));
INFERD_SCALAR_FUNCTION(Sqrt, std::sqrt(x));
INFERD_SCALAR_FUNCTION(Reciprocal, T{1} / x);
INFERD_SCALAR_FUNCTION(Exp, std::exp(x));
INFERD_SCALAR_FUNCTION(Log, std::log(x));
INFERD_SCALAR_FUNCTION(Sin, std::sin(x));
INFERD_SCALAR_FUNCTION(Cos, std::cos(x));
INFERD_SCALAR_FUNCTION(Tan, std::tan(x));
INFERD_SCALAR_FUNCTION(Asin, std::asin(x));
INFERD_SCALAR_FUNCTION(Acos, std::acos(x));
INFERD_SCALAR_FUNCTION(Atan, std::atan(x));
INFERD_SCALAR_FUNCTION(Sinh, std::sinh(x));
INFERD_SCALAR_FUNCTION(Cosh, std::cosh(x));
INFERD_SCALAR_FUNCTION(Tanh, std::tanh(x));
INFERD_SCALAR_FUNCTION(Asinh, std::asinh(x));
INFERD_SCALAR_FUNCTION(Acosh, std::acosh(x));
INFERD_SCALAR_FUNCTION(Atanh, std::atanh(x));
INFERD_SCALAR_FUNCTION(Erf, std::erf(x));
#undef INFERD_SCALAR_FUNCTION

// ---- Activations ----

struct Relu {
  template <typename T>
  T operator()(T x) const {
    return x < T{0} ? T{0} : x;  // NaN stays NaN
  }
};
struct LeakyRelu {
  float alpha = 0.01f;
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? static_cast<T>(alpha) * x : x;
  }
};
struct ThresholdedRelu {
  float alpha = 1;
  template <typename T>
  T operator()(T x) const {
    return x > static_cast<T>(alpha) || x != x ? x : T{0};
  }
};
struct Elu {
  float alpha = 1;
  template <typename T>
  T operator()(T x) const {
    return x < 0 ? static_cast<T>(alpha) * std::expm1(x) : x;
  }
};
struct Celu {
  float alpha = 1;
  template <typename T>
  T operator()(T x) const {
    const T a = static_cast<T>(alpha);
    return x < 0 ? a * std::expm1(x / a) : x;
  }
};
struct Selu {
  float alpha = 1.67326319217681884765625f;
  float gamma = 1.05070102214813232421875f;
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(gamma) * (x <= 0 ? static_cast<T>(alpha) * std::expm1(x) : x);
  }
};
// The exponential is taken of a number at most 0, so that it does not overflow.
struct Sigmoid {
  template <typename T>
  T operator()(T x) const {
    const T e = std::exp(-std::abs(x));
    return (x >= 0 ? T{1} : e) / (T{1} + e);
  }
};
struct HardSigmoid {
  float alpha = 0.2f;
  float beta = 0.5f;
  template <typename T>
  T operator()(T x) const {
    const T y = static_cast<T>(alpha) * x + static_cast<T>(beta);
    return y < 0 ? T{0} : y > 1 ? T{1} : y;
  }
};
struct HardSwish {
  template <typename T>
  T operator()(T x) const {
    const T y = x / T{6} + T{0.5};
    return x * (y < 0 ? T{0} : y > 1 ? T{1} : y);
  }
};
struct Softplus {
  template <typename T>
  T operator()(T x) const {
    return (x > 0 || x != x ? x : T{0}) + std::log1p(std::exp(-std::abs(x)));
  }
};
struct Softsign {
  template <typename T>
  T operator()(T x) const {
    return x / (T{1} + std::abs(x));
  }
};
struct Mish {
  template <typename T>
  T operator()(T x) const {
    return x * std::tanh(Softplus{}(x));
  }
};
struct Swish {
  float alpha = 1;
  template <typename T>
  T operator()(T x) const {
    return x * Sigmoid{}(static_cast<T>(alpha) * x);
  }
};
// x * Phi(x), through erfc: 1 + erf(x / sqrt 2) cancels for negative x.
struct GeluErf {
  template <typename T>
  T operator()(T x) const {
    if (std::isinf(x)) return x > 0 ? x : T{0};
    return T{0.5} * x * std::erfc(x * T{-0.70710678118654752440});
  }
};
// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as the standard defines it.
struct GeluTanh {
  template <typename T>
  T operator()(T x) const {
    const T inner = T{0.79788456080286535588} * (x + T{0.044715} * x * x * x);
    return T{0.5} * x * (T{1} + std::tanh(inner));
  }
};

// ---- Comparison and logic ----

#define INFERD_SCALAR_COMPARISON(Name, op)          \
  struct Name {                                     \
    template <typename T>                           \
    bool operator()(const T& a, const T& b) const { \
      return a op b;                                \
    }                                               \
  }
INFERD_SCALAR_COMPARISON(Equal, ==);
INFERD_SCALAR_COMPARISON(Greater, >);
INFERD_SCALAR_COMPARISON(GreaterOrEqual, >=);
INFERD_SCALAR_COMPARISON(Less, <);
INFERD_SCALAR_COMPARISON(LessOrEqual, <=);
INFERD_SCALAR_COMPARISON(And, &&);
INFERD_SCALAR_COMPARISON(Or, ||);
INFERD_SCALAR_COMPARISON(Xor, !=);
#undef INFERD_SCALAR_COMPARISON

struct Not {
  bool operator()(bool x) const { return !x; }
};
struct BitwiseAnd {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct BitwiseNot {
  template <typename T>
  T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
// Shift amounts below 0 or of the type's width and more leave only the sign's extension.
struct ShiftLeft {
  template <typename T>
  T operator()(T x, T amount) const {
    constexpr int kBits = sizeof(T) * 8;
    if (OutOfRange<T, kBits>(amount)) return T{0};
    return static_cast<T>(static_cast<Wrapping<T>>(x) << amount);
  }
  template <typename T, int bits>
  static bool OutOfRange(T amount) {
    if constexpr (std::is_signed_v<T>) {
      if (amount < 0) return true;
    }
    return amount >= static_cast<T>(bits);
  }
};
struct ShiftRight {
  template <typename T>
  T operator()(T x, T amount) const {
    constexpr int kBits = sizeof(T) * 8;
    if (ShiftLeft::OutOfRange<T, kBits>(amount)) return x < T{0} ? static_cast<T>(-1) : T{0};
    return static_cast<T>(x >> amount);
  }
};
struct IsNan {
  template <typename T>
  bool operator()(T x) const {
    return x != x;
  }
};
struct IsInf {
  bool positive = true;
  bool negative = true;
  template <typename T>
  bool operator()(T x) const {
    return (positive && x == std::numeric_limits<T>::infinity()) ||
           (negative && x == -std::numeric_limits<T>::infinity());
  }
};

}  // namespace inferd::engine::scalar
