#include "engine/ops/element_conversion.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace inferd::engine {
namespace {

template <typename W>
const W* Values(const WideBlock& block) {
  if constexpr (std::is_same_v<W, float>) return block.f;
  if constexpr (std::is_same_v<W, double>) return block.d;
  if constexpr (std::is_same_v<W, int64_t>) return block.i;
  if constexpr (std::is_same_v<W, uint64_t>) return block.u;
}
template <typename W>
W* Values(WideBlock& block) {
  return const_cast<W*>(Values<W>(static_cast<const WideBlock&>(block)));
}

template <typename T, typename W>
void LoadPlain(const void* source, int64_t first, int64_t count, WideBlock& block) {
  const T* x = static_cast<const T*>(source) + first;
  W* out = Values<W>(block);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<W>(x[i]);
}

// bits per element: 2 or 4; the code of element i sits in the byte's low bits first.
template <int bits>
uint8_t PackedCode(const uint8_t* bytes, int64_t i) {
  constexpr int kPerByte = 8 / bits;
  return (bytes[i / kPerByte] >> (i % kPerByte * bits)) & ((1 << bits) - 1);
}

template <int bits, bool is_signed>
void LoadPacked(const void* source, int64_t first, int64_t count, WideBlock& block) {
  const auto* bytes = static_cast<const uint8_t*>(source);
  for (int64_t i = 0; i < count; ++i) {
    int64_t v = PackedCode<bits>(bytes, first + i);
    if (is_signed && v >= (1 << (bits - 1))) v -= 1 << bits;
    block.i[i] = v;
  }
}

template <ElementType type>
void LoadFloat8(const void* source, int64_t first, int64_t count, WideBlock& block) {
  const auto* x = static_cast<const uint8_t*>(source) + first;
  for (int64_t i = 0; i < count; ++i) block.f[i] = LowPrecisionToFloat(type, x[i]);
}

void LoadFloat4(const void* source, int64_t first, int64_t count, WideBlock& block) {
  const auto* bytes = static_cast<const uint8_t*>(source);
  for (int64_t i = 0; i < count; ++i) {
    block.f[i] = LowPrecisionToFloat(ElementType::kFloat4E2M1, PackedCode<4>(bytes, first + i));
  }
}

// Truncation toward zero of what the standard defines; outside of int64 it clamps, NaN is 0.
template <typename W>
int64_t ToInt64(W v) {
  if constexpr (std::is_integral_v<W>) {
    return static_cast<int64_t>(v);
  } else {
    if (v >= W{0x1p63}) return std::numeric_limits<int64_t>::max();
    if (v < W{-0x1p63}) return std::numeric_limits<int64_t>::min();
    return std::isnan(v) ? 0 : static_cast<int64_t>(v);
  }
}

template <typename W>
uint64_t ToUint64(W v) {
  if constexpr (std::is_floating_point_v<W>) {
    if (v >= W{0x1p64}) return std::numeric_limits<uint64_t>::max();
    if (v >= W{0x1p63}) return static_cast<uint64_t>(v);
  }
  return static_cast<uint64_t>(ToInt64(v));
}

// To a float that a further rounding to a narrower type cannot round twice.
template <typename W>
float ToFloatForNarrowing(W v) {
  if constexpr (std::is_same_v<W, float>) {
    return v;
  } else if constexpr (std::is_same_v<W, double>) {
    return DoubleToFloatRoundToOdd(v);
  } else {
    // Integers beyond 2^53 are far beyond every narrow type's precision, and their rounding to
    // double is no tie of those types unless they are one themselves.
    return DoubleToFloatRoundToOdd(static_cast<double>(v));
  }
}

template <typename W, typename T>
T ConvertTo(W v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v != W{0};
  } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return T(ToFloatForNarrowing(v));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(v);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return ToUint64(v);
  } else {
    return static_cast<T>(ToInt64(v));  // narrower: the higher bits are discarded
  }
}

template <typename W, typename T>
void StorePlain(const WideBlock& block, const CastOptions&, void* target, int64_t first,
                int64_t count) {
  const W* x = Values<W>(block);
  T* out = static_cast<T*>(target) + first;
  for (int64_t i = 0; i < count; ++i) out[i] = ConvertTo<W, T>(x[i]);
}

// Packs codes of `bits` bits; unused bits of the last byte are zero.
template <int bits, typename Fn>
void Pack(void* target, int64_t first, int64_t count, Fn code) {
  constexpr int kPerByte = 8 / bits;
  auto* bytes = static_cast<uint8_t*>(target) + first / kPerByte;
  for (int64_t i = 0; i < count; i += kPerByte) {
    uint8_t byte = 0;
    for (int64_t j = i; j < std::min<int64_t>(count, i + kPerByte); ++j) {
      byte |= static_cast<uint8_t>((code(j) & ((1 << bits) - 1)) << ((j - i) * bits));
    }
    *bytes++ = byte;
  }
}

template <typename W, int bits>
void StorePacked(const WideBlock& block, const CastOptions&, void* target, int64_t first,
                 int64_t count) {
  const W* x = Values<W>(block);
  Pack<bits>(target, first, count, [&](int64_t i) { return static_cast<uint8_t>(ToInt64(x[i])); });
}

template <typename W>
void StoreFloat4(const WideBlock& block, const CastOptions&, void* target, int64_t first,
                 int64_t count) {
  const W* x = Values<W>(block);
  Pack<4>(target, first, count,
          [&](int64_t i) { return FloatToFloat4E2M1(ToFloatForNarrowing(x[i])); });
}

template <typename W, ElementType type>
void StoreFloat8(const WideBlock& block, const CastOptions& options, void* target, int64_t first,
                 int64_t count) {
  const W* x = Values<W>(block);
  auto* out = static_cast<uint8_t*>(target) + first;
  for (int64_t i = 0; i < count; ++i) {
    const float v = ToFloatForNarrowing(x[i]);
    if constexpr (type == ElementType::kFloat8E8M0) {
      out[i] = FloatToFloat8E8M0(v, options.saturate, options.e8m0_rounding);
    } else {
      out[i] = FloatToFloat8(type, v, options.saturate);
    }
  }
}

template <typename W>
StoreFn StorerFrom(ElementType to) {
  StoreFn fn = nullptr;
  DispatchType<float, double, Float16, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
               uint16_t, uint32_t, uint64_t, bool>(to,
                                                   [&]<typename T>() { fn = StorePlain<W, T>; });
  if (fn != nullptr) return fn;
  switch (to) {
    case ElementType::kFloat8E4M3FN:
      return StoreFloat8<W, ElementType::kFloat8E4M3FN>;
    case ElementType::kFloat8E4M3FNUZ:
      return StoreFloat8<W, ElementType::kFloat8E4M3FNUZ>;
    case ElementType::kFloat8E5M2:
      return StoreFloat8<W, ElementType::kFloat8E5M2>;
    case ElementType::kFloat8E5M2FNUZ:
      return StoreFloat8<W, ElementType::kFloat8E5M2FNUZ>;
    case ElementType::kFloat8E8M0:
      return StoreFloat8<W, ElementType::kFloat8E8M0>;
    case ElementType::kFloat4E2M1:
      return StoreFloat4<W>;
    case ElementType::kInt4:
    case ElementType::kUint4:
      return StorePacked<W, 4>;
    case ElementType::kInt2:
    case ElementType::kUint2:
      return StorePacked<W, 2>;
    default:
      return nullptr;
  }
}

}  // namespace

WideType WideTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat64:
      return WideType::kDouble;
    case ElementType::kUint64:
      return WideType::kUint64;
    default:
      return IsFloatingPoint(type) ? WideType::kFloat : WideType::kInt64;
  }
}

LoadFn ElementLoader(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return LoadPlain<float, float>;
    case ElementType::kFloat64:
      return LoadPlain<double, double>;
    case ElementType::kFloat16:
      return LoadPlain<Float16, float>;
    case ElementType::kBfloat16:
      return LoadPlain<BFloat16, float>;
    case ElementType::kUint64:
      return LoadPlain<uint64_t, uint64_t>;
    case ElementType::kFloat8E4M3FN:
      return LoadFloat8<ElementType::kFloat8E4M3FN>;
    case ElementType::kFloat8E4M3FNUZ:
      return LoadFloat8<ElementType::kFloat8E4M3FNUZ>;
    case ElementType::kFloat8E5M2:
      return LoadFloat8<ElementType::kFloat8E5M2>;
    case ElementType::kFloat8E5M2FNUZ:
      return LoadFloat8<ElementType::kFloat8E5M2FNUZ>;
    case ElementType::kFloat8E8M0:
      return LoadFloat8<ElementType::kFloat8E8M0>;
    case ElementType::kFloat4E2M1:
      return LoadFloat4;
    case ElementType::kInt4:
      return LoadPacked<4, true>;
    case ElementType::kUint4:
      return LoadPacked<4, false>;
    case ElementType::kInt2:
      return LoadPacked<2, true>;
    case ElementType::kUint2:
      return LoadPacked<2, false>;
    default:
      break;
  }
  LoadFn fn = nullptr;
  DispatchType<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, bool>(
      type, [&]<typename T>() { fn = LoadPlain<T, int64_t>; });
  return fn;
}

StoreFn ElementStorer(WideType from, ElementType to) {
  switch (from) {
    case WideType::kFloat:
      return StorerFrom<float>(to);
    case WideType::kDouble:
      return StorerFrom<double>(to);
    case WideType::kInt64:
      return StorerFrom<int64_t>(to);
    case WideType::kUint64:
      return StorerFrom<uint64_t>(to);
  }
  return nullptr;
}

double LoadAsDouble(ElementType type, const void* source, int64_t index) {
  WideBlock block;
  const LoadFn load = ElementLoader(type);
  if (load == nullptr) return std::numeric_limits<double>::quiet_NaN();
  load(source, index, 1, block);
  switch (WideTypeOf(type)) {
    case WideType::kFloat:
      return block.f[0];
    case WideType::kDouble:
      return block.d[0];
    case WideType::kInt64:
      return static_cast<double>(block.i[0]);
    case WideType::kUint64:
      return static_cast<double>(block.u[0]);
  }
  return 0;
}

}  // namespace inferd::engine
