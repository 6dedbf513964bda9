// Conversion between any two element types, block by block through a wide intermediate: the
// engine of Cast, and how kernels read scalar operands of any type.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/tensor/element_type.h"
#include "engine/tensor/low_precision.h"

namespace inferd::engine {

// The intermediates: every numeric element type converts to one of them exactly.
enum class WideType : uint8_t { kFloat, kDouble, kInt64, kUint64 };

WideType WideTypeOf(ElementType type);  // numeric types, bool included

struct CastOptions {
  bool saturate = true;  // 8-bit floats
  E8M0Rounding e8m0_rounding = E8M0Rounding::kUp;
};

// Elements one block holds; a multiple of 8, so that blocks of sub-byte types start at a byte.
inline constexpr int64_t kConversionBlock = 256;

// A block of intermediates.
union WideBlock {
  float f[kConversionBlock];
  double d[kConversionBlock];
  int64_t i[kConversionBlock];
  uint64_t u[kConversionBlock];
};

// Reads elements [first, first + count) of `source` into `block`, in the type's WideTypeOf.
using LoadFn = void (*)(const void* source, int64_t first, int64_t count, WideBlock& block);
// Writes the block, converted, to elements [first, first + count) of `target`. Blocks of sub-byte
// types must start at a whole byte.
using StoreFn = void (*)(const WideBlock& block, const CastOptions& options, void* target,
                         int64_t first, int64_t count);

// Null for types that are not numeric (string, complex, undefined).
LoadFn ElementLoader(ElementType type);
StoreFn ElementStorer(WideType from, ElementType to);

// Element `index` of a buffer of a numeric type, as double. 64-bit integers may be rounded.
double LoadAsDouble(ElementType type, const void* source, int64_t index);

// Decimal text of a number and back, as Cast writes and reads strings. Floating-point numbers are
// written with the fewest digits that read back as the same value of their own type; special
// values are "INF", "-INF" and "NaN", which are read in any case.
std::string NumberToString(ElementType type, const void* source, int64_t index);
// INVALID_ARGUMENT quoting the text where it is no number.
absl::StatusOr<double> StringToDouble(const std::string& text);
// Also accepts what StringToDouble accepts, truncated; the whole range of uint64 fits.
absl::StatusOr<uint64_t> StringToIntegerBits(const std::string& text);

}  // namespace inferd::engine
