#include "engine/inferplan/npy_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

std::optional<ElementType> TypeOfDescriptor(absl::string_view descr) {
  static const std::map<absl::string_view, ElementType> kTypes = {
      {"f4", ElementType::kFloat32},   {"f8", ElementType::kFloat64},
      {"f2", ElementType::kFloat16},   {"i1", ElementType::kInt8},
      {"i2", ElementType::kInt16},     {"i4", ElementType::kInt32},
      {"i8", ElementType::kInt64},     {"u1", ElementType::kUint8},
      {"u2", ElementType::kUint16},    {"u4", ElementType::kUint32},
      {"u8", ElementType::kUint64},    {"b1", ElementType::kBool},
      {"c8", ElementType::kComplex64}, {"c16", ElementType::kComplex128}};
  if (descr.empty() || descr[0] == '>') return std::nullopt;
  descr.remove_prefix(1);
  const auto it = kTypes.find(descr);
  if (it == kTypes.end()) return std::nullopt;
  return it->second;
}

// The text between `open` and `close` after the dictionary key 'name'.
std::optional<absl::string_view> Field(absl::string_view header, absl::string_view name, char open,
                                       char close) {
  const size_t key = header.find(absl::StrCat("'", name, "'"));
  if (key == absl::string_view::npos) return std::nullopt;
  const size_t begin = header.find(open, header.find(':', key));
  if (begin == absl::string_view::npos) return std::nullopt;
  const size_t end = header.find(close, begin + 1);
  if (end == absl::string_view::npos) return std::nullopt;
  return header.substr(begin + 1, end - begin - 1);
}

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("not a usable .npy file: ", what));
}

}  // namespace

absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes) {
  constexpr absl::string_view kMagic("\x93NUMPY", 6);
  if (!absl::StartsWith(bytes, kMagic) || bytes.size() < 10) return Bad("the magic is missing");
  const int version = static_cast<unsigned char>(bytes[6]);
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return Bad("the header is cut off");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  }
  const size_t data_at = 8 + length_bytes + length;
  if (bytes.size() < data_at) return Bad("the header is cut off");
  const absl::string_view header = bytes.substr(8 + length_bytes, length);

  const auto descr = Field(header, "descr", '\'', '\'');
  if (!descr.has_value()) return Bad("no plain 'descr' in its header");
  const auto type = TypeOfDescriptor(*descr);
  if (!type.has_value()) return Bad(absl::StrCat("element type '", *descr, "' is not supported"));
  const auto dims = Field(header, "shape", '(', ')');
  if (!dims.has_value()) return Bad("no 'shape' in its header");
  Shape shape;
  for (absl::string_view part : absl::StrSplit(*dims, ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;
    int64_t dim;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) return Bad("its 'shape' is not one");
    shape.push_back(dim);
  }
  const size_t order = header.find("'fortran_order'");
  const bool fortran = order != absl::string_view::npos &&
                       absl::StartsWith(absl::StripLeadingAsciiWhitespace(header.substr(
                                            std::min(header.size(), header.find(':', order) + 1))),
                                        "True");
  if (fortran && shape.rank() > 1) return Bad("it is in Fortran order; save it in C order");

  ASSIGN_OR_RETURN(const int64_t count, shape.CheckedNumElements());
  const size_t present = bytes.size() - data_at;
  if (static_cast<uint64_t>(count) > present ||
      static_cast<size_t>(ElementBytes(*type, count)) != present) {
    return Bad(absl::StrCat("its header says ", ElementTypeName(*type), shape.ToString(), ", but ",
                            present, " bytes of data follow"));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(*type, shape));
  if (present > 0) std::memcpy(tensor.view().data, bytes.data() + data_at, present);
  return tensor;
}

absl::StatusOr<Tensor> ReadNpyFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  absl::StatusOr<Tensor> tensor = ParseNpy(bytes);
  if (!tensor.ok()) {
    return absl::Status(tensor.status().code(),
                        absl::StrCat(path, ": ", tensor.status().message()));
  }
  return tensor;
}

}  // namespace inferd::engine
