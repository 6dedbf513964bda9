#include "engine/tensor/low_precision.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace inferd::engine {
namespace {

// A small float: sign, exponent, mantissa.
struct Format {
  int mantissa_bits;
  int bias;
  uint8_t max_code;  // largest finite magnitude
  bool has_infinity;
  bool unsigned_zero;  // the code of -0 is the one NaN ("UZ" types)
  uint8_t nan_code;    // magnitude bits of the quiet NaN
};

constexpr Format kE4M3FN = {3, 7, 0x7E, false, false, 0x7F};
constexpr Format kE4M3FNUZ = {3, 8, 0x7F, false, true, 0x80};
constexpr Format kE5M2 = {2, 15, 0x7B, true, false, 0x7E};
constexpr Format kE5M2FNUZ = {2, 16, 0x7F, false, true, 0x80};
constexpr Format kE2M1 = {1, 1, 0x07, false, false, 0};

const Format& FormatOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat8E4M3FNUZ:
      return kE4M3FNUZ;
    case ElementType::kFloat8E5M2:
      return kE5M2;
    case ElementType::kFloat8E5M2FNUZ:
      return kE5M2FNUZ;
    case ElementType::kFloat4E2M1:
      return kE2M1;
    default:
      return kE4M3FN;
  }
}

float DecodeMagnitude(const Format& format, int magnitude) {
  const int mantissa = magnitude & ((1 << format.mantissa_bits) - 1);
  const int exponent = magnitude >> format.mantissa_bits;
  if (exponent == 0) {
    return std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissa_bits);
  }
  return std::ldexp(static_cast<float>(mantissa + (1 << format.mantissa_bits)),
                    exponent - format.bias - format.mantissa_bits);
}

// Magnitude bits of |value| (finite) rounded to nearest even; may exceed max_code.
int EncodeMagnitude(const Format& format, float magnitude) {
  if (magnitude == 0) return 0;
  const int min_exponent = 1 - format.bias;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, min_exponent);
  // In units of the last place: an integer below 2^(mantissa_bits + 1) after exact scaling.
  const float scaled = std::ldexp(magnitude, format.mantissa_bits - exponent);
  const int units = static_cast<int>(std::nearbyint(scaled));
  // A subnormal has exponent field 0 and no hidden bit; a carry moves into the exponent by itself.
  return ((exponent - min_exponent) << format.mantissa_bits) + units;
}

}  // namespace

float LowPrecisionToFloat(ElementType type, uint8_t code) {
  if (type == ElementType::kFloat8E8M0) {
    return code == 0xFF ? std::numeric_limits<float>::quiet_NaN()
                        : std::ldexp(1.0f, static_cast<int>(code) - 127);
  }
  const Format& format = FormatOf(type);
  if (type == ElementType::kFloat4E2M1) {
    const float v = DecodeMagnitude(format, code & 0x7);
    return (code & 0x8) != 0 ? -v : v;
  }
  if (format.unsigned_zero && code == format.nan_code) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const int magnitude = code & 0x7F;
  float v = DecodeMagnitude(format, magnitude);
  if (magnitude > format.max_code) {
    const bool infinite = format.has_infinity && magnitude == format.max_code + 1;
    v = infinite ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  }
  return (code & 0x80) != 0 ? -v : v;
}

uint8_t FloatToFloat8(ElementType type, float value, bool saturate) {
  const Format& format = FormatOf(type);
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const uint8_t nan = format.unsigned_zero ? format.nan_code : (sign | format.nan_code);
  if (std::isnan(value)) return nan;
  const int magnitude =
      std::isinf(value) ? format.max_code + 1 : EncodeMagnitude(format, std::abs(value));
  if (magnitude > format.max_code) {
    if (saturate) return sign | format.max_code;
    return format.has_infinity ? sign | (format.max_code + 1) : nan;
  }
  if (magnitude == 0 && format.unsigned_zero) return 0;
  return static_cast<uint8_t>(sign | magnitude);
}

uint8_t FloatToFloat4E2M1(float value) {
  if (std::isnan(value)) return 0x8;
  const uint8_t sign = std::signbit(value) ? 0x8 : 0;
  const int magnitude =
      std::abs(value) >= 6 ? kE2M1.max_code : EncodeMagnitude(kE2M1, std::abs(value));
  return static_cast<uint8_t>(sign | magnitude);
}

uint8_t FloatToFloat8E8M0(float value, bool saturate, E8M0Rounding rounding) {
  constexpr uint8_t kNan = 0xFF;
  if (std::isnan(value)) return kNan;
  const uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7FFFFFFFu;
  if (bits >= 0x7F800000u) return saturate ? 0xFE : kNan;
  uint32_t exponent = bits >> 23;
  const uint32_t mantissa = bits & 0x7FFFFFu;
  if (bits < 0x00400000u && !saturate) return kNan;  // below 2^-127
  switch (rounding) {
    case E8M0Rounding::kUp:
      // 2^-127 itself is a float subnormal: code 0 has no fraction there.
      if (exponent == 0 ? mantissa > 0x400000u : mantissa != 0) ++exponent;
      break;
    case E8M0Rounding::kDown:
      break;
    case E8M0Rounding::kNearest:
      // Halfway between two powers of two is 1.5 times the lower one and goes up.
      if (exponent == 0 ? mantissa >= 0x600000u : mantissa >= 0x400000u) ++exponent;
      break;
  }
  if (exponent > 0xFE) return saturate ? 0xFE : kNan;
  return static_cast<uint8_t>(exponent);
}

float DoubleToFloatRoundToOdd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  // Toward zero first; inexact results then get an odd last bit.
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace inferd::engine
