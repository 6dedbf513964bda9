#include "server/wire/raw_tensor.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/status_macros.h"
#include "server/wire/datatype.h"

namespace inferd::server {
namespace {

using engine::ElementType;
using engine::Shape;
using engine::TensorView;

absl::Status SizeMismatch(const InferRequest& request, const InferInput& input, int64_t expected,
                          size_t got) {
  return absl::InvalidArgumentError(
      absl::StrCat("input byte size mismatch for input '", input.name, "' for model '",
                   request.model_name, "'. Expected ", expected, ", got ", got, " (",
                   DatatypeName(input.tensor.type), " ", input.tensor.shape.ToString(), ")"));
}

absl::Status BindBytes(BytesView raw, InferRequest* request, InferInput* input) {
  const int64_t count = input->tensor.num_elements();
  // Every element takes at least its length; a huge shape is refused before memory is asked for.
  if (static_cast<uint64_t>(count) > raw.size() / sizeof(uint32_t)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input->name, "' for model '", request->model_name,
                     "': ", raw.size(), " bytes cannot hold the ", count,
                     " BYTES elements of shape ", input->tensor.shape.ToString()));
  }
  RETURN_IF_ERROR(AllocateTensor(request, input));
  auto* strings = input->tensor.as<std::string>();
  ByteReader reader(raw);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t length;
    BytesView bytes;
    if (!reader.ReadFixed(&length) || !reader.ReadBytes(length, &bytes)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input->name, "' for model '", request->model_name, "': BYTES element ", i,
          " of ", count, " reaches past the end of the ", raw.size(), " bytes sent"));
    }
    strings[i].resize(length);
    bytes.CopyTo(strings[i].data());
  }
  if (!reader.done()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input->name, "' for model '", request->model_name,
                     "': ", reader.remaining(), " bytes are left over after the ", count,
                     " BYTES elements of shape ", input->tensor.shape.ToString()));
  }
  return absl::OkStatus();
}

// Any other value would be undefined behaviour in a kernel that reads a bool.
absl::Status CheckBools(BytesView raw, const InferRequest& request, const InferInput& input) {
  size_t before = 0;
  for (BytesView rest = raw; !rest.empty();) {
    const ByteSpan piece = rest.head();
    const auto bad = std::find_if(piece.begin(), piece.end(), [](uint8_t b) { return b > 1; });
    if (bad != piece.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input.name, "' for model '", request.model_name, "': BOOL element ",
          before + (bad - piece.begin()), " is ", static_cast<int>(*bad), "; 0 or 1 is expected"));
    }
    before += piece.size();
    rest.RemovePrefix(piece.size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> CheckedShape(absl::string_view input, absl::Span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input, "' has ", dims.size(),
                                                   " dimensions; at most ", kMaxRank,
                                                   " are allowed"));
  }
  Shape shape(dims);
  absl::StatusOr<int64_t> count = shape.CheckedNumElements();
  constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max() / 64;
  if (!count.ok() || *count > kMaxElements) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input, "' has the impossible shape ", shape.ToString()));
  }
  return shape;
}

absl::Status AllocateTensor(InferRequest* request, InferInput* input) {
  ASSIGN_OR_RETURN(engine::Tensor tensor,
                   engine::Tensor::Allocate(input->tensor.type, input->tensor.shape));
  input->tensor = tensor.view();
  request->owned.push_back(std::move(tensor));
  return absl::OkStatus();
}

absl::Status BindRawTensor(BytesView raw, InferRequest* request, InferInput* input) {
  TensorView& tensor = input->tensor;
  if (tensor.type == ElementType::kString) return BindBytes(raw, request, input);

  const int64_t expected = tensor.num_bytes();
  if (static_cast<uint64_t>(expected) != raw.size()) {
    return SizeMismatch(*request, *input, expected, raw.size());
  }
  const uint8_t* data = raw.contiguous();
  const size_t alignment = engine::ElementBytes(tensor.type, 1);
  if (data != nullptr && reinterpret_cast<uintptr_t>(data) % alignment == 0) {
    // Inputs are only read; TensorView has no const form.
    tensor.data = const_cast<uint8_t*>(data);
  } else {
    for (BytesView rest = raw; !rest.empty(); rest.RemovePrefix(rest.head().size())) {
      input->pieces.push_back(rest.head());
    }
  }
  return tensor.type == ElementType::kBool ? CheckBools(raw, *request, *input) : absl::OkStatus();
}

int64_t RawTensorBytes(const TensorView& tensor) {
  if (tensor.type != ElementType::kString) return tensor.num_bytes();
  int64_t bytes = 0;
  for (const std::string& s : tensor.span<std::string>()) {
    bytes += static_cast<int64_t>(sizeof(uint32_t) + s.size());
  }
  return bytes;
}

absl::Status AppendBytesTensor(const TensorView& tensor, std::string* out) {
  for (const std::string& s : tensor.span<std::string>()) {
    if (s.size() > std::numeric_limits<uint32_t>::max()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a BYTES element of ", s.size(), " bytes does not fit the wire format"));
    }
    const auto length = static_cast<uint32_t>(s.size());
    out->append(reinterpret_cast<const char*>(&length), sizeof(length));
    out->append(s);
  }
  return absl::OkStatus();
}

}  // namespace inferd::server
