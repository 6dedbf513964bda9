#include "engine/tensor/npy_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/status_macros.h"
#include "engine/whole_file.h"

namespace inferd::engine {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

// Descriptors without the byte order, which is '<' or, where an element is one byte, '|'.
constexpr std::pair<absl::string_view, ElementType> kDescriptors[] = {
    {"f4", ElementType::kFloat32},   {"f8", ElementType::kFloat64},
    {"f2", ElementType::kFloat16},   {"i1", ElementType::kInt8},
    {"i2", ElementType::kInt16},     {"i4", ElementType::kInt32},
    {"i8", ElementType::kInt64},     {"u1", ElementType::kUint8},
    {"u2", ElementType::kUint16},    {"u4", ElementType::kUint32},
    {"u8", ElementType::kUint64},    {"b1", ElementType::kBool},
    {"c8", ElementType::kComplex64}, {"c16", ElementType::kComplex128}};

std::optional<ElementType> TypeOfDescriptor(absl::string_view descriptor) {
  if (!absl::StartsWith(descriptor, "<") && !absl::StartsWith(descriptor, "|")) {
    return std::nullopt;
  }
  for (const auto& [name, type] : kDescriptors) {
    if (descriptor.substr(1) == name) return type;
  }
  return std::nullopt;
}

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a usable .npy file: ", what));
}

// What follows the colon of the dictionary key 'name'.
absl::StatusOr<absl::string_view> ValueOf(absl::string_view header, absl::string_view name) {
  const size_t key = header.find(absl::StrCat("'", name, "'"));
  const size_t colon = key == absl::string_view::npos ? key : header.find(':', key);
  if (colon == absl::string_view::npos) return Bad(absl::StrCat("its header has no ", name));
  return absl::StripLeadingAsciiWhitespace(header.substr(colon + 1));
}

// The text between `open`, which `value` starts with, and `close`.
absl::StatusOr<absl::string_view> Enclosed(absl::string_view value, absl::string_view name,
                                           char open, char close) {
  const size_t end =
      value.empty() || value[0] != open ? absl::string_view::npos : value.find(close, 1);
  if (end == absl::string_view::npos) {
    return Bad(absl::StrCat("the ", name, " in its header is not a plain one"));
  }
  return value.substr(1, end - 1);
}

struct Parts {
  absl::string_view header;
  absl::string_view data;
};

absl::StatusOr<Parts> Split(absl::string_view bytes) {
  if (!absl::StartsWith(bytes, kMagic) || bytes.size() < 8) return Bad("the magic is missing");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return Bad(absl::StrCat("format version ", version, " is unknown"));
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return Bad("its header is cut off");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  }
  bytes.remove_prefix(8 + length_bytes);
  if (bytes.size() < length) return Bad("its header is cut off");
  return Parts{bytes.substr(0, length), bytes.substr(length)};
}

absl::StatusOr<Shape> ParseDims(absl::string_view text) {
  Shape shape;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    int64_t dim;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) {
      return Bad(absl::StrCat("its shape (", text, ") is not one"));
    }
    shape.push_back(dim);
  }
  return shape;
}

}  // namespace

absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes) {
  ASSIGN_OR_RETURN(const Parts parts, Split(bytes));
  ASSIGN_OR_RETURN(const absl::string_view descr_value, ValueOf(parts.header, "descr"));
  ASSIGN_OR_RETURN(const absl::string_view descr, Enclosed(descr_value, "descr", '\'', '\''));
  const std::optional<ElementType> type = TypeOfDescriptor(descr);
  if (!type.has_value()) {
    return Bad(absl::StrCat("elements of type '", descr, "' are not supported"));
  }
  ASSIGN_OR_RETURN(const absl::string_view shape_value, ValueOf(parts.header, "shape"));
  ASSIGN_OR_RETURN(const absl::string_view dims, Enclosed(shape_value, "shape", '(', ')'));
  ASSIGN_OR_RETURN(const Shape shape, ParseDims(dims));
  ASSIGN_OR_RETURN(const absl::string_view order, ValueOf(parts.header, "fortran_order"));
  // The two orders differ from rank 2 on.
  if (absl::StartsWith(order, "True") && shape.rank() > 1) {
    return Bad("it is in Fortran order; save it with numpy.ascontiguousarray");
  }

  ASSIGN_OR_RETURN(const int64_t count, shape.CheckedNumElements());
  // Elements are whole bytes, so that a count above the bytes present cannot fit; bytes are only
  // compared then, since their number may overflow.
  if (static_cast<uint64_t>(count) > parts.data.size() ||
      static_cast<size_t>(ElementBytes(*type, count)) != parts.data.size()) {
    return Bad(absl::StrCat("shape (", dims, ") of '", descr, "' needs ", count,
                            " elements, the file has ", parts.data.size(), " bytes"));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(*type, shape));
  if (!parts.data.empty()) {
    std::memcpy(tensor.view().data, parts.data.data(), parts.data.size());
  }
  return tensor;
}

absl::StatusOr<Tensor> ReadNpyFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  absl::StatusOr<Tensor> tensor = ParseNpy(bytes);
  if (tensor.ok()) return tensor;
  return absl::Status(tensor.status().code(), absl::StrCat(path, ": ", tensor.status().message()));
}

absl::StatusOr<std::string> FormatNpy(const TensorView& tensor) {
  const auto* const descriptor =
      std::find_if(std::begin(kDescriptors), std::end(kDescriptors),
                   [&](const auto& known) { return known.second == tensor.type; });
  if (descriptor == std::end(kDescriptors)) {
    return absl::UnimplementedError(
        absl::StrCat(".npy files hold no ", ElementTypeName(tensor.type)));
  }
  if (!tensor.layout.is_plain()) {
    return absl::InvalidArgumentError(
        absl::StrCat(".npy files hold plain layouts, found ", tensor.layout.ToString()));
  }
  std::string header = absl::StrCat("{'descr': '", ElementBits(tensor.type) == 8 ? "|" : "<",
                                    descriptor->first, "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(tensor.shape.dims(), ", "),
                                    tensor.shape.rank() == 1 ? "," : "", "), }");
  // The data starts at a multiple of 64 bytes.
  while ((10 + header.size() + 1) % 64 != 0) header.push_back(' ');
  header.push_back('\n');
  if (header.size() > std::numeric_limits<uint16_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a shape of rank ", tensor.shape.rank(), " does not fit a .npy header"));
  }
  std::string bytes(kMagic);
  bytes.append("\x01\x00", 2);
  bytes.push_back(static_cast<char>(header.size() & 255));
  bytes.push_back(static_cast<char>(header.size() >> 8));
  bytes.append(header);
  bytes.append(static_cast<const char*>(tensor.data), static_cast<size_t>(tensor.num_bytes()));
  return bytes;
}

absl::Status WriteNpyFile(const std::string& path, const TensorView& tensor) {
  ASSIGN_OR_RETURN(const std::string bytes, FormatNpy(tensor));
  return WriteFile(path, bytes);
}

}  // namespace inferd::engine
