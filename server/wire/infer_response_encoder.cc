#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/status_macros.h"
#include "server/wire/datatype.h"
#include "server/wire/infer_codec.h"
#include "server/wire/raw_tensor.h"

namespace inferd::server {
namespace {

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

size_t VarintSize(uint64_t value) {
  size_t n = 1;
  for (; value >= 0x80; value >>= 7) ++n;
  return n;
}

void AppendPrefix(uint32_t field, uint64_t length, std::string* out) {
  AppendVarint(FieldTag(field, WireType::kBytes), out);
  AppendVarint(length, out);
}

// A proto3 string: left out when empty.
void AppendString(uint32_t field, absl::string_view text, std::string* out) {
  if (text.empty()) return;
  AppendPrefix(field, text.size(), out);
  out->append(text.data(), text.size());
}

void AppendParameter(const std::string& name, const ParameterValue& value, std::string* out) {
  std::string choice;
  if (const auto* b = std::get_if<bool>(&value)) {
    AppendVarint(FieldTag(1, WireType::kVarint), &choice);
    AppendVarint(*b ? 1 : 0, &choice);
  } else if (const auto* i = std::get_if<int64_t>(&value)) {
    AppendVarint(FieldTag(2, WireType::kVarint), &choice);
    AppendVarint(static_cast<uint64_t>(*i), &choice);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    // A member of a oneof is written even when it is empty.
    AppendPrefix(3, text->size(), &choice);
    choice.append(*text);
  } else if (const auto* d = std::get_if<double>(&value)) {
    AppendVarint(FieldTag(4, WireType::kFixed64), &choice);
    choice.append(reinterpret_cast<const char*>(d), sizeof(*d));
  } else {
    AppendVarint(FieldTag(5, WireType::kVarint), &choice);
    AppendVarint(std::get<uint64_t>(value), &choice);
  }
  std::string entry;
  AppendString(1, name, &entry);
  AppendPrefix(2, choice.size(), &entry);
  entry.append(choice);
  AppendPrefix(4, entry.size(), out);
  out->append(entry);
}

void AppendOutput(const InferOutput& output, std::string* out) {
  std::string body;
  AppendString(1, output.name, &body);
  AppendString(2, DatatypeName(output.tensor.type), &body);
  size_t packed = 0;
  for (int64_t d : output.tensor.shape) packed += VarintSize(static_cast<uint64_t>(d));
  if (packed != 0) {
    AppendPrefix(3, packed, &body);
    for (int64_t d : output.tensor.shape) AppendVarint(static_cast<uint64_t>(d), &body);
  }
  AppendPrefix(5, body.size(), out);
  out->append(body);
}

}  // namespace

absl::StatusOr<EncodedInferResponse> EncodeInferResponse(const InferResponse& response) {
  EncodedInferResponse encoded;
  std::string& framing = encoded.framing;
  framing.reserve(256);
  AppendString(1, response.model_name, &framing);
  AppendString(2, response.model_version, &framing);
  AppendString(3, response.id, &framing);
  for (const auto& [name, value] : response.parameters) AppendParameter(name, value, &framing);
  for (const InferOutput& output : response.outputs) {
    if (DatatypeName(output.tensor.type).empty()) {
      return absl::UnimplementedError(absl::StrCat(
          "output '", output.name, "' of model '", response.model_name, "' has element type ",
          engine::ElementTypeName(output.tensor.type), ", which the protocol has no datatype for"));
    }
    AppendOutput(output, &framing);
  }
  size_t part_begin = 0;
  for (const InferOutput& output : response.outputs) {
    const int64_t bytes = RawTensorBytes(output.tensor);
    AppendPrefix(6, bytes, &framing);
    encoded.total_bytes += bytes;
    if (output.tensor.type == engine::ElementType::kString) {
      RETURN_IF_ERROR(AppendBytesTensor(output.tensor, &framing));
      encoded.total_bytes -= bytes;
      continue;
    }
    const auto* data = static_cast<const uint8_t*>(output.tensor.data);
    if (bytes <= kInlineTensorBytes) {
      framing.append(reinterpret_cast<const char*>(data), bytes);
      encoded.total_bytes -= bytes;
      continue;
    }
    encoded.parts.push_back({part_begin, framing.size(), ByteSpan(data, bytes), output.buffer});
    part_begin = framing.size();
  }
  if (part_begin != framing.size()) {
    encoded.parts.push_back({part_begin, framing.size(), {}, {}});
  }
  encoded.total_bytes += static_cast<int64_t>(framing.size());
  return encoded;
}

std::string StreamResponsePrefix(int64_t response_bytes) {
  std::string prefix;
  AppendPrefix(2, response_bytes, &prefix);
  return prefix;
}

std::string EncodeStreamError(absl::string_view error, absl::string_view id) {
  std::string response;
  AppendString(3, id, &response);
  std::string message;
  AppendString(1, error, &message);
  AppendPrefix(2, response.size(), &message);
  return message + response;
}

}  // namespace inferd::server
