// What each Reduce operator does with the elements: start, fold, finish. Floating-point sums and
// products are kept in double, so that a reference result is rounded once; integers wrap.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/ops/scalar_functions.h"

namespace inferd::engine::reducer {

// T is the compute type of the elements: float, double, an integer or bool.
template <typename T>
using SumType = std::conditional_t<std::is_floating_point_v<T>, double, T>;

// From double to T; integers clamp, NaN becomes 0.
template <typename T>
T FromDouble(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    return std::isnan(value) ? T{0} : static_cast<T>(value);
  }
}

template <typename T>
struct Sum {
  using State = SumType<T>;
  static State Start() { return 0; }
  static void Fold(State& s, T x) { s = scalar::Add{}(s, static_cast<State>(x)); }
  static T Finish(State s, int64_t) { return static_cast<T>(s); }
};
template <typename T>
struct Mean : Sum<T> {
  using State = SumType<T>;
  static T Finish(State s, int64_t count) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(s / static_cast<double>(count));
    } else {
      // The factory refuses empty sets of integers.
      using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return static_cast<T>(static_cast<Wide>(s) / static_cast<Wide>(count));
    }
  }
};
template <typename T>
struct Prod {
  using State = SumType<T>;
  static State Start() { return 1; }
  static void Fold(State& s, T x) { s = scalar::Mul{}(s, static_cast<State>(x)); }
  static T Finish(State s, int64_t) { return static_cast<T>(s); }
};
template <typename T>
struct SumSquare {
  using State = SumType<T>;
  static State Start() { return 0; }
  static void Fold(State& s, T x) {
    const State v = static_cast<State>(x);
    s = scalar::Add{}(s, scalar::Mul{}(v, v));
  }
  static T Finish(State s, int64_t) { return static_cast<T>(s); }
};
template <typename T>
struct L1 {
  using State = SumType<T>;
  static State Start() { return 0; }
  static void Fold(State& s, T x) { s = scalar::Add{}(s, scalar::Abs{}(static_cast<State>(x))); }
  static T Finish(State s, int64_t) { return static_cast<T>(s); }
};
template <typename T>
struct L2 {
  using State = double;
  static State Start() { return 0; }
  static void Fold(State& s, T x) { s += static_cast<double>(x) * static_cast<double>(x); }
  static T Finish(State s, int64_t) { return FromDouble<T>(std::sqrt(s)); }
};
template <typename T>
struct LogSum {
  using State = double;
  static State Start() { return 0; }
  static void Fold(State& s, T x) { s += static_cast<double>(x); }
  static T Finish(State s, int64_t) { return FromDouble<T>(std::log(s)); }
};
// The running sum of exp(x - max), rescaled whenever the maximum grows.
template <typename T>
struct LogSumExp {
  struct State {
    double max;
    double sum;
  };
  static State Start() { return {-std::numeric_limits<double>::infinity(), 0}; }
  static void Fold(State& s, T value) {
    const double x = static_cast<double>(value);
    if (x > s.max) {
      s.sum = s.sum * std::exp(s.max - x) + 1;
      s.max = x;
    } else if (x == s.max) {
      if (x > -std::numeric_limits<double>::infinity()) s.sum += 1;
    } else {
      s.sum += std::exp(x - s.max);  // NaN comes through here
    }
  }
  static T Finish(State s, int64_t) { return FromDouble<T>(s.max + std::log(s.sum)); }
};
// NaN wins; an empty set gives the type's lowest (or highest) value.
template <typename T>
struct Max {
  using State = T;
  static State Start() {
    if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::lowest();
  }
  static void Fold(State& s, T x) { s = s > x || s != s ? s : x; }
  static T Finish(State s, int64_t) { return s; }
};
template <typename T>
struct Min {
  using State = T;
  static State Start() {
    if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
    return std::numeric_limits<T>::max();
  }
  static void Fold(State& s, T x) { s = s < x || s != s ? s : x; }
  static T Finish(State s, int64_t) { return s; }
};

}  // namespace inferd::engine::reducer
