#include "server/http/json/json_number.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace inferd::server {
namespace {

using engine::BFloat16;
using engine::Float16;

constexpr char kNotANumber[] = "is not a number";
constexpr char kNotAnInteger[] = "is not an integer";
constexpr char kOutOfRange[] = "is out of the range of the datatype";

bool IsDigit(const char* p, const char* end) { return p < end && *p >= '0' && *p <= '9'; }

// The nearest float to `d` in the sense that a further rounding to fewer bits comes out as if it
// had been done on `d` at once: inexact results get an odd last bit ("round to odd").
float RoundToOdd(double d) {
  const auto f = static_cast<float>(d);
  if (static_cast<double>(f) == d || !std::isfinite(f)) return f;
  const auto bits = std::bit_cast<uint32_t>(f);
  if (bits & 1) return f;
  // The other neighbour of d has an odd last bit.
  const bool away_from_zero = std::fabs(d) > std::fabs(static_cast<double>(f));
  return std::bit_cast<float>(away_from_zero ? bits + 1 : bits - 1);
}

// A decimal number as integer times a power of ten.
struct Decimal {
  bool negative = false;
  bool exact = false;  // false: too many digits for `digits`, which then means nothing
  uint64_t digits = 0;
  int64_t exponent = 0;
  // Position of the leading digit: the value is below 10^magnitude.
  int64_t magnitude = 0;
};

// The most digits a uint64 holds in any case.
constexpr int64_t kMaxDigits = 19;

// Scans a number by the grammar; null where there is none. Works on locals: the text could alias
// anything behind a pointer.
const char* ScanDecimal(const char* at, const char* end, Decimal* decimal) {
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  if (!IsDigit(at, end)) return nullptr;
  uint64_t digits = 0;
  int64_t integer_digits = 0, fraction_digits = 0, exponent = 0;
  if (*at == '0') {
    ++at;
    if (IsDigit(at, end)) return nullptr;  // no leading zeros
  } else {
    const char* begin = at;
    for (; IsDigit(at, end); ++at) digits = digits * 10 + static_cast<uint64_t>(*at - '0');
    integer_digits = at - begin;
  }
  if (at < end && *at == '.') {
    const char* begin = ++at;
    for (; IsDigit(at, end); ++at) digits = digits * 10 + static_cast<uint64_t>(*at - '0');
    fraction_digits = at - begin;
    if (fraction_digits == 0) return nullptr;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    const bool minus = at < end && *at == '-';
    if (at < end && (*at == '+' || *at == '-')) ++at;
    if (!IsDigit(at, end)) return nullptr;
    for (; IsDigit(at, end); ++at) {
      if (exponent < 1'000'000'000'000) exponent = exponent * 10 + (*at - '0');
    }
    if (minus) exponent = -exponent;
  }
  decimal->negative = negative;
  decimal->exact = integer_digits + fraction_digits <= kMaxDigits;
  decimal->digits = digits;
  decimal->exponent = exponent - fraction_digits;
  decimal->magnitude = exponent + integer_digits;
  return at;
}

const char* ReadSpecial(const char* at, const char* end, double* value) {
  const bool negative = at < end && *at == '-';
  if (negative) ++at;
  auto is = [&](const char* word) {
    const size_t n = std::strlen(word);
    if (static_cast<size_t>(end - at) < n || std::memcmp(at, word, n) != 0) return false;
    at += n;
    return true;
  };
  if (is("NaN")) {
    *value = std::numeric_limits<double>::quiet_NaN();
  } else if (is("Infinity") || is("Inf")) {
    *value = std::numeric_limits<double>::infinity();
  } else {
    return nullptr;
  }
  if (negative) *value = -*value;
  return at;
}

constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Both factors are exact doubles, so their product or quotient is the correctly rounded one
// (Clinger, "How to read floating point numbers accurately", 1990).
bool FastDouble(const Decimal& decimal, double* value) {
  if (!decimal.exact || decimal.digits > (uint64_t{1} << 53) || decimal.exponent < -22 ||
      decimal.exponent > 22) {
    return false;
  }
  const auto digits = static_cast<double>(decimal.digits);
  const double magnitude = decimal.exponent < 0 ? digits / kPowersOfTen[-decimal.exponent]
                                                : digits * kPowersOfTen[decimal.exponent];
  *value = decimal.negative ? -magnitude : magnitude;
  return true;
}

// Rounding a double again to float goes wrong only where the double lies exactly between two
// floats, or where float is subnormal and has fewer bits.
bool SafeToNarrow(double d) {
  if (d == 0) return true;
  if (std::fabs(d) < std::numeric_limits<float>::min()) return false;
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1;
  return (std::bit_cast<uint64_t>(d) & kDropped) != uint64_t{1} << 28;
}

// The slow, exact way for the few numbers the fast one refuses. The text has been checked.
template <typename T>
bool ExactFloat(const char* begin, const char* end, const Decimal& decimal, T* value) {
  const auto [ptr, error] = std::from_chars(begin, end, *value);
  if (error == std::errc::result_out_of_range) {
    // Too small is zero, too large is an error.
    if (decimal.magnitude > 0) return false;
    *value = decimal.negative ? -T{0} : T{0};
  }
  return true;
}

}  // namespace

template <typename T>
const char* ReadNumber(const char* at, const char* end, T* value, const char** error) {
  Decimal decimal;
  const char* after = ScanDecimal(at, end, &decimal);
  if constexpr (std::is_integral_v<T>) {
    if (after == nullptr) {
      *error = kNotANumber;
      return nullptr;
    }
    // from_chars stops where an integer ends.
    const auto [ptr, code] = std::from_chars(at, after, *value);
    if (code == std::errc::result_out_of_range ||
        (code != std::errc() && (decimal.digits != 0 || !decimal.exact))) {
      *error = kOutOfRange;
      return nullptr;
    }
    if (code != std::errc()) {  // "-0" for an unsigned type
      *value = 0;
      return after;
    }
    if (ptr != after) {
      *error = kNotAnInteger;
      return nullptr;
    }
    return after;
  } else {
    double d;
    if (after == nullptr) {
      after = ReadSpecial(at, end, &d);
      if (after == nullptr) {
        *error = kNotANumber;
        return nullptr;
      }
      *value = static_cast<T>(static_cast<std::conditional_t<sizeof(T) == 8, double, float>>(d));
      return after;
    }
    bool ok = true;
    if constexpr (std::is_same_v<T, double>) {
      if (!FastDouble(decimal, value)) ok = ExactFloat(at, after, decimal, value);
    } else if constexpr (std::is_same_v<T, float>) {
      if (FastDouble(decimal, &d) && SafeToNarrow(d)) {
        *value = static_cast<float>(d);
        ok = std::isfinite(*value);
      } else {
        ok = ExactFloat(at, after, decimal, value);
      }
    } else {
      if (!FastDouble(decimal, &d)) ok = ExactFloat(at, after, decimal, &d);
      if (ok) {
        *value = T(RoundToOdd(d));
        ok = std::isfinite(static_cast<float>(*value));
      }
    }
    if (!ok) {
      *error = kOutOfRange;
      return nullptr;
    }
    return after;
  }
}

template const char* ReadNumber(const char*, const char*, int8_t*, const char**);
template const char* ReadNumber(const char*, const char*, int16_t*, const char**);
template const char* ReadNumber(const char*, const char*, int32_t*, const char**);
template const char* ReadNumber(const char*, const char*, int64_t*, const char**);
template const char* ReadNumber(const char*, const char*, uint8_t*, const char**);
template const char* ReadNumber(const char*, const char*, uint16_t*, const char**);
template const char* ReadNumber(const char*, const char*, uint32_t*, const char**);
template const char* ReadNumber(const char*, const char*, uint64_t*, const char**);
template const char* ReadNumber(const char*, const char*, float*, const char**);
template const char* ReadNumber(const char*, const char*, double*, const char**);
template const char* ReadNumber(const char*, const char*, Float16*, const char**);
template const char* ReadNumber(const char*, const char*, BFloat16*, const char**);

}  // namespace inferd::server
