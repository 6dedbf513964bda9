// Numbers as decimal text, for Cast from and to string.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/ops/element_conversion.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// d.ddde±XX, as std::to_chars(scientific) writes it, split into sign, digits and exponent.
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

Decimal Split(const std::string& scientific) {
  Decimal decimal;
  const size_t e = scientific.find('e');
  for (size_t i = 0; i < e; ++i) {
    if (scientific[i] == '-') decimal.negative = true;
    if (scientific[i] >= '0' && scientific[i] <= '9') decimal.digits.push_back(scientific[i]);
  }
  decimal.exponent = std::atoi(scientific.c_str() + e + 1);
  return decimal;
}

// Positional between 1e-4 and 1e16, scientific beyond, always with a mark of a real number.
std::string Format(const Decimal& decimal) {
  std::string out = decimal.negative ? "-" : "";
  const int digits = static_cast<int>(decimal.digits.size());
  const int exponent = decimal.exponent;
  if (exponent < -4 || exponent >= 16) {
    out += decimal.digits[0];
    if (digits > 1) absl::StrAppend(&out, ".", decimal.digits.substr(1));
    const int magnitude = std::abs(exponent);
    absl::StrAppend(&out, "e", exponent < 0 ? "-" : "+", magnitude < 10 ? "0" : "", magnitude);
  } else if (exponent < 0) {
    absl::StrAppend(&out, "0.", std::string(-exponent - 1, '0'), decimal.digits);
  } else if (digits <= exponent + 1) {
    absl::StrAppend(&out, decimal.digits, std::string(exponent + 1 - digits, '0'), ".0");
  } else {
    absl::StrAppend(&out, decimal.digits.substr(0, exponent + 1), ".",
                    decimal.digits.substr(exponent + 1));
  }
  return out;
}

template <typename T>
std::string Scientific(T value) {
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  return std::string(buffer, end.ptr);
}

// The fewest digits that convert back to the same element of `type`.
std::string ShortestNarrow(ElementType type, float value) {
  const StoreFn store = ElementStorer(WideType::kDouble, type);
  const LoadFn load = ElementLoader(type);
  for (int precision = 0; precision < 9; ++precision) {
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                                   std::chars_format::scientific, precision);
    const std::string text(buffer, end.ptr);
    WideBlock block;
    block.d[0] = std::strtod(text.c_str(), nullptr);
    uint64_t storage = 0;
    store(block, CastOptions{}, &storage, 0, 1);
    load(&storage, 0, 1, block);
    if (block.f[0] == value) return text;
  }
  return Scientific(value);
}

}  // namespace

std::string NumberToString(ElementType type, const void* source, int64_t index) {
  if (type == ElementType::kBool) return static_cast<const bool*>(source)[index] ? "True" : "False";
  WideBlock block;
  ElementLoader(type)(source, index, 1, block);
  switch (WideTypeOf(type)) {
    case WideType::kInt64:
      return absl::StrCat(block.i[0]);
    case WideType::kUint64:
      return absl::StrCat(block.u[0]);
    default:
      break;
  }
  const double value = WideTypeOf(type) == WideType::kDouble ? block.d[0] : block.f[0];
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  if (type == ElementType::kFloat64) return Format(Split(Scientific(value)));
  if (type == ElementType::kFloat32) return Format(Split(Scientific(static_cast<float>(value))));
  return Format(Split(ShortestNarrow(type, static_cast<float>(value))));
}

absl::StatusOr<double> StringToDouble(const std::string& text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  double value = 0;
  if (absl::SimpleAtod(trimmed, &value)) return value;
  if (absl::EqualsIgnoreCase(trimmed, "true")) return 1.0;
  if (absl::EqualsIgnoreCase(trimmed, "false")) return 0.0;
  return absl::InvalidArgumentError(
      absl::StrCat("Cast: the string \"", text.substr(0, 64), "\" is not a number"));
}

absl::StatusOr<uint64_t> StringToIntegerBits(const std::string& text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  int64_t as_signed = 0;
  if (absl::SimpleAtoi(trimmed, &as_signed)) return static_cast<uint64_t>(as_signed);
  uint64_t as_unsigned = 0;
  if (absl::SimpleAtoi(trimmed, &as_unsigned)) return as_unsigned;
  ASSIGN_OR_RETURN(const double value, StringToDouble(text));
  WideBlock block;
  block.d[0] = value;
  uint64_t bits = 0;
  ElementStorer(WideType::kDouble, value < 0 ? ElementType::kInt64 : ElementType::kUint64)(
      block, CastOptions{}, &bits, 0, 1);
  return bits;
}

}  // namespace inferd::engine
