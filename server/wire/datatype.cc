#include "server/wire/datatype.h"

#include <utility>

#include "absl/strings/string_view.h"

namespace inferd::server {
namespace {

using engine::ElementType;

constexpr std::pair<absl::string_view, ElementType> kDatatypes[] = {
    {"FP32", ElementType::kFloat32},  {"INT64", ElementType::kInt64},
    {"INT32", ElementType::kInt32},   {"BYTES", ElementType::kString},
    {"UINT8", ElementType::kUint8},   {"INT8", ElementType::kInt8},
    {"FP16", ElementType::kFloat16},  {"BF16", ElementType::kBfloat16},
    {"FP64", ElementType::kFloat64},  {"BOOL", ElementType::kBool},
    {"INT16", ElementType::kInt16},   {"UINT16", ElementType::kUint16},
    {"UINT32", ElementType::kUint32}, {"UINT64", ElementType::kUint64},
};

}  // namespace

absl::string_view DatatypeName(ElementType type) {
  for (const auto& [name, t] : kDatatypes) {
    if (t == type) return name;
  }
  return "";
}

std::optional<ElementType> DatatypeFromName(absl::string_view name) {
  for (const auto& [n, type] : kDatatypes) {
    if (n == name) return type;
  }
  return std::nullopt;
}

absl::string_view DatatypeNames() {
  return "BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, FP16, BF16, FP32, FP64, "
         "BYTES";
}

}  // namespace inferd::server
