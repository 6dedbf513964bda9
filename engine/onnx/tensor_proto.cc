#include "engine/onnx/tensor_proto.h"

#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/onnx/external_data.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

// Below this a copy into an aligned buffer costs less than keeping a string alive.
constexpr size_t kTakeOverBytes = 1 << 14;

struct Header {
  std::string label;  // how errors name the tensor
  ElementType type = ElementType::kUndefined;
  Shape shape;
  int64_t elements = 0;
  int64_t bytes = 0;  // strings: 0
};

absl::StatusOr<Header> ReadHeader(const onnx::TensorProto& proto) {
  Header h;
  h.label = proto.name().empty() ? "unnamed tensor" : absl::StrCat("tensor \"", proto.name(), "\"");
  const std::optional<ElementType> type = ElementTypeFromOnnx(proto.data_type());
  if (!type.has_value() || *type == ElementType::kUndefined) {
    return absl::InvalidArgumentError(
        absl::StrCat(h.label, ": element type code ", proto.data_type(), " is not known"));
  }
  h.type = *type;
  for (int64_t d : proto.dims()) h.shape.push_back(d);
  absl::StatusOr<int64_t> elements = CountElements(h.shape);
  if (!elements.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(h.label, ": ", elements.status().message()));
  }
  h.elements = *elements;
  if (h.elements > std::numeric_limits<int64_t>::max() / 128) {
    return absl::InvalidArgumentError(
        absl::StrCat(h.label, ": shape ", h.shape.ToString(), " is too large"));
  }
  if (h.type != ElementType::kString) h.bytes = ElementBytes(h.type, h.elements);
  if (proto.has_segment()) {
    return absl::InvalidArgumentError(
        absl::StrCat(h.label, ": tensors stored in segments are not supported"));
  }
  return h;
}

std::string Describe(const Header& h) {
  return absl::StrCat(ElementTypeName(h.type), h.shape.ToString());
}

// Whatever is not 0 is true; a bool object must hold 0 or 1.
void NormalizeBools(const Header& h, void* data) {
  if (h.type != ElementType::kBool) return;
  auto* bytes = static_cast<uint8_t*>(data);
  for (int64_t i = 0; i < h.elements; ++i) bytes[i] = bytes[i] != 0;
}

absl::Status CheckRawSize(const Header& h, int64_t found) {
  if (h.type == ElementType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat(h.label, ": strings cannot be stored as raw data"));
  }
  if (found != h.bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        h.label, ": raw data has ", found, " bytes, expected ", h.bytes, " for ", Describe(h)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> FromRaw(const Header& h, const std::string& raw) {
  RETURN_IF_ERROR(CheckRawSize(h, static_cast<int64_t>(raw.size())));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(h.type, h.shape));
  if (!raw.empty()) std::memcpy(tensor.view().data, raw.data(), raw.size());
  NormalizeBools(h, tensor.view().data);
  return tensor;
}

absl::Status CheckCount(const Header& h, absl::string_view field, int64_t found, int64_t expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      h.label, ": ", field, " has ", found, " entries, expected ", expected, " for ", Describe(h)));
}

// Copies entries of a typed field that are the storage itself: float_data, int64_data, ...
template <typename Stored, typename Field>
absl::StatusOr<Tensor> FromField(const Header& h, absl::string_view name, const Field& field,
                                 int64_t entries_per_element = 1) {
  RETURN_IF_ERROR(CheckCount(h, name, field.size(), h.elements * entries_per_element));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(h.type, h.shape));
  auto* out = static_cast<Stored*>(tensor.view().data);
  for (int i = 0; i < field.size(); ++i) {
    if constexpr (std::is_same_v<Stored, uint32_t>) {
      if (field.Get(i) > std::numeric_limits<uint32_t>::max()) {
        return absl::InvalidArgumentError(absl::StrCat(h.label, ": entry ", i, " of ", name, ", ",
                                                       field.Get(i), ", does not fit in uint32"));
      }
    }
    out[i] = static_cast<Stored>(field.Get(i));
  }
  return tensor;
}

// int32_data holds every type of at most 16 bits: one element per entry, sub-byte types one byte
// of packed elements per entry. An entry may be written signed or as the bit pattern.
template <typename Stored>
absl::StatusOr<Tensor> FromNarrow(const Header& h, const onnx::TensorProto& proto) {
  const auto& field = proto.int32_data();
  RETURN_IF_ERROR(
      CheckCount(h, "int32_data", field.size(), h.bytes / static_cast<int64_t>(sizeof(Stored))));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(h.type, h.shape));
  auto* out = static_cast<Stored*>(tensor.view().data);
  constexpr int kBits = sizeof(Stored) * 8;
  for (int i = 0; i < field.size(); ++i) {
    const int32_t v = field.Get(i);
    if (v < -(1 << (kBits - 1)) || v >= (1 << kBits)) {
      return absl::InvalidArgumentError(absl::StrCat(h.label, ": entry ", i, " of int32_data, ", v,
                                                     ", does not fit in ",
                                                     ElementTypeName(h.type)));
    }
    out[i] = static_cast<Stored>(v);
  }
  NormalizeBools(h, tensor.view().data);
  return tensor;
}

absl::StatusOr<Tensor> FromTypedFields(const Header& h, const onnx::TensorProto& proto) {
  using enum ElementType;
  switch (h.type) {
    case kFloat32:
      return FromField<float>(h, "float_data", proto.float_data());
    case kComplex64:
      return FromField<float>(h, "float_data", proto.float_data(), 2);
    case kFloat64:
      return FromField<double>(h, "double_data", proto.double_data());
    case kComplex128:
      return FromField<double>(h, "double_data", proto.double_data(), 2);
    case kInt32:
      return FromField<int32_t>(h, "int32_data", proto.int32_data());
    case kInt64:
      return FromField<int64_t>(h, "int64_data", proto.int64_data());
    case kUint32:
      return FromField<uint32_t>(h, "uint64_data", proto.uint64_data());
    case kUint64:
      return FromField<uint64_t>(h, "uint64_data", proto.uint64_data());
    case kString: {
      RETURN_IF_ERROR(CheckCount(h, "string_data", proto.string_data_size(), h.elements));
      ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(h.type, h.shape));
      for (int i = 0; i < proto.string_data_size(); ++i) {
        tensor.mutable_data<std::string>()[i] = proto.string_data(i);
      }
      return tensor;
    }
    default:
      return ElementBits(h.type) == 16 ? FromNarrow<uint16_t>(h, proto)
                                       : FromNarrow<uint8_t>(h, proto);
  }
}

absl::StatusOr<Tensor> FromExternal(const Header& h, const onnx::TensorProto& proto,
                                    ExternalDataReader* external) {
  if (external == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(h.label, ": external data is not allowed here"));
  }
  if (h.type == ElementType::kString) {
    return absl::InvalidArgumentError(
        absl::StrCat(h.label, ": strings cannot be stored as external data"));
  }
  std::string location;
  int64_t offset = 0;
  int64_t length = h.bytes;
  for (const auto& entry : proto.external_data()) {
    int64_t* number = entry.key() == "offset"   ? &offset
                      : entry.key() == "length" ? &length
                                                : nullptr;
    if (entry.key() == "location") location = entry.value();
    if (number != nullptr && (!absl::SimpleAtoi(entry.value(), number) || *number < 0)) {
      return absl::InvalidArgumentError(absl::StrCat(h.label, ": external data ", entry.key(),
                                                     " \"", entry.value(),
                                                     "\" is not a non-negative number"));
    }
  }
  if (length != h.bytes) {
    return absl::InvalidArgumentError(absl::StrCat(h.label, ": external data has ", length,
                                                   " bytes, expected ", h.bytes, " for ",
                                                   Describe(h)));
  }
  absl::StatusOr<BufferRef> buffer = external->Read(location, offset, length);
  if (!buffer.ok()) {
    return absl::Status(buffer.status().code(),
                        absl::StrCat(h.label, ": ", buffer.status().message()));
  }
  if (h.type == ElementType::kBool) {
    // The buffer may be shared with another tensor of the same bytes; normalize a copy.
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(h.type, h.shape));
    std::memcpy(tensor.view().data, (*buffer)->data(), static_cast<size_t>(h.bytes));
    NormalizeBools(h, tensor.view().data);
    return tensor;
  }
  return Tensor(h.type, h.shape, *std::move(buffer));
}

bool IsExternal(const onnx::TensorProto& proto) {
  return proto.has_data_location() && proto.data_location() == onnx::TensorProto::EXTERNAL;
}

bool HasTypedData(const onnx::TensorProto& proto) {
  return proto.float_data_size() > 0 || proto.int32_data_size() > 0 ||
         proto.string_data_size() > 0 || proto.int64_data_size() > 0 ||
         proto.double_data_size() > 0 || proto.uint64_data_size() > 0;
}

// Some writers set raw_data to "" beside the typed field they use.
bool UsesRaw(const onnx::TensorProto& proto) {
  return proto.has_raw_data() && !(proto.raw_data().empty() && HasTypedData(proto));
}

}  // namespace

absl::StatusOr<int64_t> CountElements(const Shape& shape) {
  Shape ones = shape;
  for (int i = 0; i < ones.rank(); ++i) {
    if (ones[i] == 0) ones[i] = 1;
  }
  if (!ones.CheckedNumElements().ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape ", shape.ToString(),
                     " has a negative dimension or more elements than fit in 63 bits"));
  }
  return shape.NumElements();
}

absl::StatusOr<Tensor> TensorFromProto(const onnx::TensorProto& proto,
                                       ExternalDataReader* external) {
  ASSIGN_OR_RETURN(const Header h, ReadHeader(proto));
  if (IsExternal(proto)) return FromExternal(h, proto, external);
  if (UsesRaw(proto)) return FromRaw(h, proto.raw_data());
  return FromTypedFields(h, proto);
}

absl::StatusOr<Tensor> TakeTensorFromProto(onnx::TensorProto& proto, ExternalDataReader* external) {
  if (IsExternal(proto) || !UsesRaw(proto) || proto.raw_data().size() < kTakeOverBytes) {
    return TensorFromProto(proto, external);
  }
  ASSIGN_OR_RETURN(const Header h, ReadHeader(proto));
  RETURN_IF_ERROR(CheckRawSize(h, static_cast<int64_t>(proto.raw_data().size())));
  // Heap strings are aligned for every element type; kernels assume no more of what they read.
  std::shared_ptr<std::string> raw(proto.release_raw_data());
  void* data = raw->data();
  NormalizeBools(h, data);
  const size_t bytes = raw->size();
  return Tensor(h.type, h.shape, WrapExternalMemory(data, bytes, std::move(raw)));
}

}  // namespace inferd::engine
