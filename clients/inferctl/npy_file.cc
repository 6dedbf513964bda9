#include "clients/inferctl/npy_file.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/status_macros.h"
#include "engine/tensor/shape.h"

namespace inferd::client {
namespace {

using engine::ElementType;

constexpr absl::string_view kMagic = "\x93NUMPY";
constexpr std::pair<absl::string_view, ElementType> kDescriptors[] = {
    {"<f4", ElementType::kFloat32}, {"<f8", ElementType::kFloat64}, {"<f2", ElementType::kFloat16},
    {"|i1", ElementType::kInt8},    {"<i2", ElementType::kInt16},   {"<i4", ElementType::kInt32},
    {"<i8", ElementType::kInt64},   {"|u1", ElementType::kUint8},   {"<u2", ElementType::kUint16},
    {"<u4", ElementType::kUint32},  {"<u8", ElementType::kUint64},  {"|b1", ElementType::kBool}};

absl::Status Bad(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("not a usable .npy file: ", why));
}

// The text between `open` and `close` after 'key':.
absl::StatusOr<std::string> Field(absl::string_view header, absl::string_view key, char open,
                                  char close) {
  const size_t at = header.find(absl::StrCat("'", key, "':"));
  const size_t first = at == absl::string_view::npos ? at : header.find(open, at + key.size() + 3);
  const size_t last = first == absl::string_view::npos ? first : header.find(close, first + 1);
  if (last == absl::string_view::npos) return Bad(absl::StrCat("its header lacks ", key));
  return std::string(header.substr(first + 1, last - first - 1));
}

}  // namespace

absl::StatusOr<NpyArray> ParseNpy(const std::string& bytes) {
  if (!absl::StartsWith(bytes, kMagic) || bytes.size() < 12) return Bad("it has no NumPy header");
  const int major = bytes[6];
  size_t header_size = 0, header_start = 0;
  if (major == 1) {
    uint16_t n = 0;
    std::memcpy(&n, bytes.data() + 8, sizeof(n));
    header_size = n;
    header_start = 10;
  } else if (major == 2 || major == 3) {
    uint32_t n = 0;
    std::memcpy(&n, bytes.data() + 8, sizeof(n));
    header_size = n;
    header_start = 12;
  } else {
    return Bad(absl::StrCat("format version ", major, " is unknown"));
  }
  if (bytes.size() - header_start < header_size) return Bad("its header is cut off");
  const absl::string_view header = absl::string_view(bytes).substr(header_start, header_size);

  ASSIGN_OR_RETURN(const std::string descriptor, Field(header, "descr", '\'', '\''));
  NpyArray array{ElementType::kUndefined, {}, {}};
  for (const auto& [name, type] : kDescriptors) {
    if (name == descriptor) array.type = type;
  }
  if (array.type == ElementType::kUndefined) {
    return Bad(absl::StrCat("elements of type '", descriptor, "' are not supported"));
  }
  if (absl::StrContains(header, "'fortran_order': True")) {
    return Bad("it is in Fortran order; save it with numpy.ascontiguousarray");
  }
  ASSIGN_OR_RETURN(const std::string dims, Field(header, "shape", '(', ')'));
  engine::Shape shape;
  for (absl::string_view dim : absl::StrSplit(dims, ',', absl::SkipWhitespace())) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(dim, &value)) return Bad(absl::StrCat("bad shape (", dims, ")"));
    array.shape.push_back(value);
    shape.push_back(value);
  }
  ASSIGN_OR_RETURN(const int64_t count, shape.CheckedNumElements());
  array.data = bytes.substr(header_start + header_size);
  // Compared as counts: the product in bytes may overflow.
  const int64_t width = engine::ElementBits(array.type) / 8;
  if (array.data.size() % width != 0 || static_cast<int64_t>(array.data.size() / width) != count) {
    return Bad(absl::StrCat("shape (", dims, ") of ", descriptor, " needs ", count,
                            " elements, the file has ", array.data.size(), " bytes"));
  }
  return array;
}

absl::StatusOr<std::string> FormatNpy(ElementType type, const std::vector<int64_t>& shape,
                                      const std::string& data) {
  for (const auto& [name, element] : kDescriptors) {
    if (element != type) continue;
    std::string header =
        absl::StrCat("{'descr': '", name, "', 'fortran_order': False, 'shape': (",
                     absl::StrJoin(shape, ", "), shape.size() == 1 ? "," : "", "), }");
    // The data starts at a multiple of 64 bytes.
    while ((10 + header.size() + 1) % 64 != 0) header.push_back(' ');
    header.push_back('\n');
    const auto length = static_cast<uint16_t>(header.size());
    std::string out(kMagic);
    out.append("\x01\x00", 2);
    out.append(reinterpret_cast<const char*>(&length), sizeof(length));
    return absl::StrCat(out, header, data);
  }
  return absl::UnimplementedError(
      absl::StrCat("NumPy files hold no ", engine::ElementTypeName(type)));
}

}  // namespace inferd::client
