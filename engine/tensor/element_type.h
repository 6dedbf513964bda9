// The element types of ONNX tensors, their storage and their mapping to C++ types.
#pragma once

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/tensor/float16.h"

namespace inferd::engine {

// Numeric values equal onnx.TensorProto.DataType (onnx.proto3, enum DataType), so that import
// needs no table. Types from kUint4 on are newer than Debian's onnx.proto.
enum class ElementType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  // Ours: a value that is no tensor (engine/tensor/composite.h).
  kComposite = 27,
};
// Of ONNX; kComposite is not counted.
inline constexpr int kNumElementTypes = 27;

// Bits one element occupies in a buffer. Sub-byte types are packed, lowest bits first, as in
// TensorProto.raw_data. Strings are std::string objects, composites Composite objects.
// Undefined: 0.
int ElementBits(ElementType type);

// Bytes `count` elements occupy, rounded up to whole bytes. `count` >= 0.
int64_t ElementBytes(ElementType type, int64_t count);

// The ONNX spelling: "float", "double", "int64", "bfloat16", "string", ... "undefined".
absl::string_view ElementTypeName(ElementType type);
std::optional<ElementType> ElementTypeFromName(absl::string_view name);
// `code` is a TensorProto.DataType number; nullopt where unknown.
std::optional<ElementType> ElementTypeFromOnnx(int32_t code);

bool IsFloatingPoint(ElementType type);  // float, double, float16, bfloat16, float8*, float4
bool IsInteger(ElementType type);        // signed and unsigned, sub-byte included; not bool

// A set of element types, for operator type constraints.
class ElementTypeSet {
 public:
  constexpr ElementTypeSet() = default;
  constexpr ElementTypeSet(std::initializer_list<ElementType> types) {
    for (ElementType t : types) bits_ |= Bit(t);
  }
  constexpr bool contains(ElementType t) const { return (bits_ & Bit(t)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr ElementTypeSet operator|(ElementTypeSet other) const {
    ElementTypeSet result;
    result.bits_ = bits_ | other.bits_;
    return result;
  }
  constexpr bool operator==(const ElementTypeSet&) const = default;
  // "float, double, float16", in numeric order.
  std::string ToString() const;

 private:
  static constexpr uint32_t Bit(ElementType t) { return 1u << static_cast<int>(t); }
  uint32_t bits_ = 0;
};

namespace type_sets {
using enum ElementType;
inline constexpr ElementTypeSet kFloats = {kFloat32, kFloat64, kFloat16, kBfloat16};
inline constexpr ElementTypeSet kFloat8s = {kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2,
                                            kFloat8E5M2FNUZ};
inline constexpr ElementTypeSet kSigned = {kInt8, kInt16, kInt32, kInt64};
inline constexpr ElementTypeSet kUnsigned = {kUint8, kUint16, kUint32, kUint64};
inline constexpr ElementTypeSet kIntegers = kSigned | kUnsigned;
inline constexpr ElementTypeSet kNumeric = kFloats | kIntegers;
inline constexpr ElementTypeSet kComplex = {kComplex64, kComplex128};
// Byte-addressable, so that data movement can treat every element as a plain block of bytes.
inline constexpr ElementTypeSet kMovable =
    kNumeric | kComplex | kFloat8s | ElementTypeSet{kBool, kString, kFloat8E8M0};
}  // namespace type_sets

// C++ type of an element type: TypeOf<float>() == kFloat32.
template <typename T>
constexpr ElementType TypeOf();
template <>
constexpr ElementType TypeOf<float>() {
  return ElementType::kFloat32;
}
template <>
constexpr ElementType TypeOf<double>() {
  return ElementType::kFloat64;
}
template <>
constexpr ElementType TypeOf<Float16>() {
  return ElementType::kFloat16;
}
template <>
constexpr ElementType TypeOf<BFloat16>() {
  return ElementType::kBfloat16;
}
template <>
constexpr ElementType TypeOf<uint8_t>() {
  return ElementType::kUint8;
}
template <>
constexpr ElementType TypeOf<int8_t>() {
  return ElementType::kInt8;
}
template <>
constexpr ElementType TypeOf<uint16_t>() {
  return ElementType::kUint16;
}
template <>
constexpr ElementType TypeOf<int16_t>() {
  return ElementType::kInt16;
}
template <>
constexpr ElementType TypeOf<uint32_t>() {
  return ElementType::kUint32;
}
template <>
constexpr ElementType TypeOf<int32_t>() {
  return ElementType::kInt32;
}
template <>
constexpr ElementType TypeOf<uint64_t>() {
  return ElementType::kUint64;
}
template <>
constexpr ElementType TypeOf<int64_t>() {
  return ElementType::kInt64;
}
template <>
constexpr ElementType TypeOf<bool>() {
  return ElementType::kBool;
}
template <>
constexpr ElementType TypeOf<std::string>() {
  return ElementType::kString;
}
template <>
constexpr ElementType TypeOf<std::complex<float>>() {
  return ElementType::kComplex64;
}
template <>
constexpr ElementType TypeOf<std::complex<double>>() {
  return ElementType::kComplex128;
}

// Calls fn.template operator()<T>() for the C++ type T of `type` if `type` is one of Ts, and
// returns true; otherwise returns false. Kernels that dispatch over types use this and nothing
// else:  DispatchType<float, double>(t, [&]<typename T>() { ... });
template <typename... Ts, typename Fn>
bool DispatchType(ElementType type, Fn&& fn) {
  return ((type == TypeOf<Ts>() ? (fn.template operator()<Ts>(), true) : false) || ...);
}

}  // namespace inferd::engine
