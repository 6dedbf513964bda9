#include "engine/tensor/element_type.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "engine/tensor/composite.h"

namespace inferd::engine {
namespace {

struct TypeInfo {
  absl::string_view name;
  int bits;
};

// Indexed by the value of ElementType.
constexpr std::array<TypeInfo, kNumElementTypes + 1> kTypes = {{
    {"undefined", 0},
    {"float", 32},
    {"uint8", 8},
    {"int8", 8},
    {"uint16", 16},
    {"int16", 16},
    {"int32", 32},
    {"int64", 64},
    {"string", sizeof(std::string) * 8},
    {"bool", 8},
    {"float16", 16},
    {"double", 64},
    {"uint32", 32},
    {"uint64", 64},
    {"complex64", 64},
    {"complex128", 128},
    {"bfloat16", 16},
    {"float8e4m3fn", 8},
    {"float8e4m3fnuz", 8},
    {"float8e5m2", 8},
    {"float8e5m2fnuz", 8},
    {"uint4", 4},
    {"int4", 4},
    {"float4e2m1", 4},
    {"float8e8m0", 8},
    {"uint2", 2},
    {"int2", 2},
    {"composite", sizeof(Composite) * 8},
}};

}  // namespace

int ElementBits(ElementType type) { return kTypes[static_cast<int>(type)].bits; }

int64_t ElementBytes(ElementType type, int64_t count) {
  const int64_t bits = ElementBits(type);
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

absl::string_view ElementTypeName(ElementType type) { return kTypes[static_cast<int>(type)].name; }

std::optional<ElementType> ElementTypeFromName(absl::string_view name) {
  for (int i = 1; i < kNumElementTypes; ++i) {
    if (kTypes[i].name == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

std::optional<ElementType> ElementTypeFromOnnx(int32_t code) {
  if (code < 0 || code >= kNumElementTypes) return std::nullopt;
  return static_cast<ElementType>(code);
}

bool IsFloatingPoint(ElementType type) {
  constexpr ElementTypeSet kAll =
      type_sets::kFloats | type_sets::kFloat8s |
      ElementTypeSet{ElementType::kFloat4E2M1, ElementType::kFloat8E8M0};
  return kAll.contains(type);
}

bool IsInteger(ElementType type) {
  constexpr ElementTypeSet kAll =
      type_sets::kIntegers | ElementTypeSet{ElementType::kUint4, ElementType::kInt4,
                                            ElementType::kUint2, ElementType::kInt2};
  return kAll.contains(type);
}

std::string ElementTypeSet::ToString() const {
  std::string text;
  for (int i = 0; i <= static_cast<int>(ElementType::kComposite); ++i) {
    const auto type = static_cast<ElementType>(i);
    if (contains(type)) absl::StrAppend(&text, text.empty() ? "" : ", ", ElementTypeName(type));
  }
  return text;
}

}  // namespace inferd::engine
