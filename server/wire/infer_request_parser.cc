#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/status_macros.h"
#include "server/wire/datatype.h"
#include "server/wire/infer_codec.h"
#include "server/wire/raw_tensor.h"
#include "server/wire/typed_contents.h"
#include "server/wire/utf8.h"

namespace inferd::server {
namespace {

// An input whose data has not been found yet.
struct PendingInput {
  std::string datatype;
  absl::InlinedVector<int64_t, 6> dims;
  absl::InlinedVector<BytesView, 1> contents;  // bodies of InferTensorContents
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("malformed ModelInferRequest: ", what, " cannot be decoded"));
}

absl::Status ReadString(ByteReader& reader, absl::string_view what, std::string* out) {
  BytesView bytes;
  if (!reader.ReadDelimited(&bytes)) return Malformed(what);
  *out = bytes.ToString();
  if (!IsValidUtf8(*out)) {
    out->clear();  // It could not be quoted in an answer.
    return absl::InvalidArgumentError(
        absl::StrCat("malformed ModelInferRequest: ", what, " is not valid UTF-8"));
  }
  return absl::OkStatus();
}

absl::Status ParseParameterValue(BytesView message, ParameterValue* value) {
  ByteReader reader(message);
  while (!reader.done()) {
    uint32_t tag;
    uint64_t number;
    if (!reader.ReadTag(&tag)) return Malformed("a parameter");
    switch (tag) {
      case FieldTag(1, WireType::kVarint):
        if (!reader.ReadVarint(&number)) return Malformed("a parameter");
        *value = number != 0;
        break;
      case FieldTag(2, WireType::kVarint):
        if (!reader.ReadVarint(&number)) return Malformed("a parameter");
        *value = static_cast<int64_t>(number);
        break;
      case FieldTag(3, WireType::kBytes): {
        std::string text;
        RETURN_IF_ERROR(ReadString(reader, "a parameter", &text));
        *value = std::move(text);
        break;
      }
      case FieldTag(4, WireType::kFixed64): {
        double d;
        if (!reader.ReadFixed(&d)) return Malformed("a parameter");
        *value = d;
        break;
      }
      case FieldTag(5, WireType::kVarint):
        if (!reader.ReadVarint(&number)) return Malformed("a parameter");
        *value = number;
        break;
      default:
        if (!reader.SkipField(tag)) return Malformed("a parameter");
    }
  }
  return absl::OkStatus();
}

// One entry of a map<string, InferParameter>.
absl::Status ParseParameter(ByteReader& outer, Parameters* parameters) {
  BytesView entry;
  if (!outer.ReadDelimited(&entry)) return Malformed("parameters");
  std::string key;
  ParameterValue value = false;
  ByteReader reader(entry);
  while (!reader.done()) {
    uint32_t tag;
    if (!reader.ReadTag(&tag)) return Malformed("parameters");
    if (tag == FieldTag(1, WireType::kBytes)) {
      RETURN_IF_ERROR(ReadString(reader, "a parameter name", &key));
    } else if (tag == FieldTag(2, WireType::kBytes)) {
      BytesView message;
      if (!reader.ReadDelimited(&message)) return Malformed("parameters");
      RETURN_IF_ERROR(ParseParameterValue(message, &value));
    } else if (!reader.SkipField(tag)) {
      return Malformed("parameters");
    }
  }
  if (parameters->size() >= kMaxParameters) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxParameters, " parameters in one map"));
  }
  parameters->Set(std::move(key), std::move(value));
  return absl::OkStatus();
}

absl::Status TooManyDimensions() {
  return absl::InvalidArgumentError(
      absl::StrCat("an input has more than the ", kMaxRank, " dimensions allowed"));
}

absl::Status ParseInput(BytesView message, InferInput* input, PendingInput* pending) {
  ByteReader reader(message);
  while (!reader.done()) {
    uint32_t tag;
    if (!reader.ReadTag(&tag)) return Malformed("an input");
    switch (tag) {
      case FieldTag(1, WireType::kBytes):
        RETURN_IF_ERROR(ReadString(reader, "an input name", &input->name));
        break;
      case FieldTag(2, WireType::kBytes):
        RETURN_IF_ERROR(ReadString(reader, "a datatype", &pending->datatype));
        break;
      case FieldTag(3, WireType::kVarint): {
        uint64_t dim;
        if (!reader.ReadVarint(&dim)) return Malformed("a shape");
        if (pending->dims.size() >= kMaxRank) return TooManyDimensions();
        pending->dims.push_back(static_cast<int64_t>(dim));
        break;
      }
      case FieldTag(3, WireType::kBytes): {
        BytesView packed;
        if (!reader.ReadDelimited(&packed)) return Malformed("a shape");
        for (ByteReader dims(packed); !dims.done();) {
          uint64_t dim;
          if (!dims.ReadVarint(&dim)) return Malformed("a shape");
          if (pending->dims.size() >= kMaxRank) return TooManyDimensions();
          pending->dims.push_back(static_cast<int64_t>(dim));
        }
        break;
      }
      case FieldTag(4, WireType::kBytes):
        RETURN_IF_ERROR(ParseParameter(reader, &input->parameters));
        break;
      case FieldTag(5, WireType::kBytes): {
        BytesView contents;
        if (!reader.ReadDelimited(&contents)) return Malformed("contents");
        pending->contents.push_back(contents);
        break;
      }
      default:
        if (!reader.SkipField(tag)) return Malformed("an input");
    }
  }
  return absl::OkStatus();
}

absl::Status ParseOutput(BytesView message, RequestedOutput* output) {
  ByteReader reader(message);
  while (!reader.done()) {
    uint32_t tag;
    if (!reader.ReadTag(&tag)) return Malformed("a requested output");
    if (tag == FieldTag(1, WireType::kBytes)) {
      RETURN_IF_ERROR(ReadString(reader, "an output name", &output->name));
    } else if (tag == FieldTag(2, WireType::kBytes)) {
      RETURN_IF_ERROR(ParseParameter(reader, &output->parameters));
    } else if (!reader.SkipField(tag)) {
      return Malformed("a requested output");
    }
  }
  return absl::OkStatus();
}

absl::Status TooManyTensors(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("a request may have at most ", kMaxTensorsPerRequest, " ", what));
}

// An input whose data comes from a shared memory region has no entry of its own in the raw list.
bool UsesSharedMemory(const InferInput& input) {
  return input.parameters.Find("shared_memory_region") != nullptr;
}

// Gives every input its type, its shape and its data.
absl::Status BindInputs(absl::Span<const PendingInput> pending, absl::Span<const BytesView> raw,
                        InferRequest* request) {
  size_t next_raw = 0;
  for (size_t i = 0; i < pending.size(); ++i) {
    InferInput& input = request->inputs[i];
    auto error = [&](auto&&... text) { return absl::InvalidArgumentError(absl::StrCat(text...)); };
    const std::optional<engine::ElementType> type = DatatypeFromName(pending[i].datatype);
    if (!type) {
      return error("input '", input.name, "' for model '", request->model_name,
                   "' has unknown datatype '", pending[i].datatype, "'; known are ",
                   DatatypeNames());
    }
    input.tensor.type = *type;
    ASSIGN_OR_RETURN(input.tensor.shape, CheckedShape(input.name, pending[i].dims));
    if (UsesSharedMemory(input)) continue;
    bool has_contents = false;
    for (BytesView part : pending[i].contents) has_contents |= !part.empty();
    if (!raw.empty()) {
      if (has_contents) {
        return error("contents field must not be specified when using raw_input_contents for '",
                     input.name, "' for model '", request->model_name, "'");
      }
      if (next_raw == raw.size()) {
        return error("expected one raw_input_contents entry per input but got ", raw.size(),
                     " for ", pending.size(), " inputs of model '", request->model_name,
                     "'; the first without data is '", input.name, "'");
      }
      RETURN_IF_ERROR(BindRawTensor(raw[next_raw++], request, &input));
    } else if (has_contents || input.tensor.num_elements() == 0) {
      RETURN_IF_ERROR(BindTypedContents(pending[i].contents, request, &input));
    } else {
      return error("unable to find data for input tensor '", input.name, "' for model '",
                   request->model_name, "' in request.");
    }
  }
  if (next_raw != raw.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected one raw_input_contents entry per input but got ", raw.size(),
                     " for ", next_raw, " inputs of model '", request->model_name, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseInferRequest(BytesView message, std::shared_ptr<const void> payload,
                               InferRequest* request) {
  request->payload = std::move(payload);
  std::vector<PendingInput> pending;
  absl::InlinedVector<BytesView, 4> raw;
  ByteReader reader(message);
  while (!reader.done()) {
    uint32_t tag;
    BytesView body;
    if (!reader.ReadTag(&tag)) return Malformed("the message");
    switch (tag) {
      case FieldTag(1, WireType::kBytes):
        RETURN_IF_ERROR(ReadString(reader, "model_name", &request->model_name));
        break;
      case FieldTag(2, WireType::kBytes):
        RETURN_IF_ERROR(ReadString(reader, "model_version", &request->model_version));
        break;
      case FieldTag(3, WireType::kBytes):
        RETURN_IF_ERROR(ReadString(reader, "id", &request->id));
        break;
      case FieldTag(4, WireType::kBytes):
        RETURN_IF_ERROR(ParseParameter(reader, &request->parameters));
        break;
      case FieldTag(5, WireType::kBytes):
        if (!reader.ReadDelimited(&body)) return Malformed("inputs");
        if (request->inputs.size() >= kMaxTensorsPerRequest) return TooManyTensors("inputs");
        RETURN_IF_ERROR(ParseInput(body, &request->inputs.emplace_back(), &pending.emplace_back()));
        break;
      case FieldTag(6, WireType::kBytes):
        if (!reader.ReadDelimited(&body)) return Malformed("outputs");
        if (request->outputs.size() >= kMaxTensorsPerRequest) return TooManyTensors("outputs");
        RETURN_IF_ERROR(ParseOutput(body, &request->outputs.emplace_back()));
        break;
      case FieldTag(7, WireType::kBytes):
        if (!reader.ReadDelimited(&body)) return Malformed("raw_input_contents");
        if (raw.size() >= kMaxTensorsPerRequest) return TooManyTensors("raw_input_contents");
        raw.push_back(body);
        break;
      default:
        if (!reader.SkipField(tag)) return Malformed("the message");
    }
  }
  return BindInputs(pending, raw, request);
}

}  // namespace inferd::server
