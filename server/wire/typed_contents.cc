#include "server/wire/typed_contents.h"

#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/status_macros.h"
#include "server/wire/datatype.h"
#include "server/wire/raw_tensor.h"

namespace inferd::server {
namespace {

using engine::ElementType;

struct ContentsField {
  uint32_t number = 0;
  absl::string_view name;
};

// Where the elements of a datatype stand; number 0: in no field.
ContentsField FieldOf(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return {1, "bool_contents"};
    case ElementType::kInt8:
    case ElementType::kInt16:
    case ElementType::kInt32:
      return {2, "int_contents"};
    case ElementType::kInt64:
      return {3, "int64_contents"};
    case ElementType::kUint8:
    case ElementType::kUint16:
    case ElementType::kUint32:
      return {4, "uint_contents"};
    case ElementType::kUint64:
      return {5, "uint64_contents"};
    case ElementType::kFloat32:
      return {6, "fp32_contents"};
    case ElementType::kFloat64:
      return {7, "fp64_contents"};
    case ElementType::kString:
      return {8, "bytes_contents"};
    default:
      return {};
  }
}

constexpr uint32_t kNumFields = 8;

template <typename T>
inline constexpr WireType kElementWireType = std::is_same_v<T, std::string> ? WireType::kBytes
                                             : std::is_same_v<T, float>     ? WireType::kFixed32
                                             : std::is_same_v<T, double>    ? WireType::kFixed64
                                                                            : WireType::kVarint;

enum class Read : uint8_t { kOk, kMalformed, kOutOfRange };

template <typename T>
Read ReadElement(ByteReader& reader, T* out) {
  if constexpr (std::is_same_v<T, std::string>) {
    BytesView bytes;
    if (!reader.ReadDelimited(&bytes)) return Read::kMalformed;
    *out = bytes.ToString();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!reader.ReadFixed(out)) return Read::kMalformed;
  } else {
    uint64_t v;
    if (!reader.ReadVarint(&v)) return Read::kMalformed;
    if constexpr (std::is_same_v<T, bool>) {
      *out = v != 0;
    } else if constexpr (sizeof(T) == 8) {
      *out = static_cast<T>(v);
    } else {
      // Protobuf reads a 32-bit field by truncation; the narrower types have no excuse.
      using Carrier = std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>;
      const auto wide = static_cast<Carrier>(v);
      if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) {
        return Read::kOutOfRange;
      }
      *out = static_cast<T>(wide);
    }
  }
  return Read::kOk;
}

// Fills a tensor of known size from as many fields as come.
template <typename T>
class Filler {
 public:
  Filler(const InferRequest& request, const InferInput& input, ContentsField field)
      : request_(request),
        input_(input),
        field_(field),
        out_(input.tensor.as<T>()),
        count_(input.tensor.num_elements()) {}

  absl::Status ReadContents(BytesView contents) {
    ByteReader reader(contents);
    while (!reader.done()) {
      uint32_t tag;
      if (!reader.ReadTag(&tag)) return Malformed();
      if (tag == FieldTag(field_.number, kElementWireType<T>)) {
        RETURN_IF_ERROR(ReadOne(reader));
      } else if (tag == FieldTag(field_.number, WireType::kBytes)) {  // packed
        BytesView packed;
        if (!reader.ReadDelimited(&packed)) return Malformed();
        for (ByteReader elements(packed); !elements.done();) RETURN_IF_ERROR(ReadOne(elements));
      } else if (tag >> 3 <= kNumFields) {
        return Error("has datatype ", DatatypeName(input_.tensor.type),
                     ", whose elements belong in ", field_.name, "; other contents were sent");
      } else if (!reader.SkipField(tag)) {
        return Malformed();
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckComplete() const {
    if (filled_ == count_) return absl::OkStatus();
    return WrongCount(absl::StrCat(filled_));
  }

 private:
  absl::Status ReadOne(ByteReader& reader) {
    if (filled_ == count_) return WrongCount("more");
    switch (ReadElement(reader, &out_[filled_])) {
      case Read::kOk:
        ++filled_;
        return absl::OkStatus();
      case Read::kOutOfRange:
        return Error("element ", filled_, " of ", field_.name, " does not fit datatype ",
                     DatatypeName(input_.tensor.type));
      case Read::kMalformed:
        break;
    }
    return Malformed();
  }
  template <typename... Text>
  absl::Status Error(const Text&... text) const {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input_.name, "' for model '", request_.model_name, "': ", text...));
  }
  absl::Status WrongCount(absl::string_view got) const {
    return Error("shape ", input_.tensor.shape.ToString(), " has ", count_, " elements but ",
                 field_.name, " holds ", got);
  }
  absl::Status Malformed() const { return Error("contents cannot be decoded"); }

  const InferRequest& request_;
  const InferInput& input_;
  const ContentsField field_;
  T* out_;
  const int64_t count_;
  int64_t filled_ = 0;
};

}  // namespace

absl::Status BindTypedContents(absl::Span<const BytesView> contents, InferRequest* request,
                               InferInput* input) {
  const ElementType type = input->tensor.type;
  const ContentsField field = FieldOf(type);
  if (field.number == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input->name, "' for model '", request->model_name, "': datatype ",
                     DatatypeName(type), " has no contents field; send it in raw_input_contents"));
  }
  // An element takes a byte or more, so a shape that promises more is refused before memory is
  // asked for.
  size_t available = 0;
  for (BytesView part : contents) available += part.size();
  if (static_cast<uint64_t>(input->tensor.num_elements()) > available) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input->name, "' for model '", request->model_name, "': shape ",
                     input->tensor.shape.ToString(), " has ", input->tensor.num_elements(),
                     " elements but contents are only ", available, " bytes long"));
  }
  RETURN_IF_ERROR(AllocateTensor(request, input));
  absl::Status status;
  engine::DispatchType<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                       uint64_t, float, double, std::string>(type, [&]<typename T>() {
    Filler<T> filler(*request, *input, field);
    for (BytesView part : contents) {
      status = filler.ReadContents(part);
      if (!status.ok()) return;
    }
    status = filler.CheckComplete();
  });
  return status;
}

}  // namespace inferd::server
