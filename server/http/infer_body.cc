#include "server/http/infer_body.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "server/http/json/json_writer.h"
#include "server/wire/datatype.h"
#include "server/wire/raw_tensor.h"

namespace inferd::server {
namespace {

using engine::ElementType;

// A request without a JSON part: the body is the only input's data, its shape follows from the
// model and the number of bytes.
absl::Status DecodeRawBody(const HttpRequest& request, ServerContext& context, InferRequest* out) {
  ASSIGN_OR_RETURN(const auto model,
                   context.repository().Find(out->model_name, out->model_version));
  const scheduler::ServableOptions& options = model->servable->options();
  auto error = [&](const auto&... text) {
    return absl::InvalidArgumentError(
        absl::StrCat("a raw request (Inference-Header-Content-Length: 0) for model '",
                     out->model_name, "' is not possible: ", text...));
  };
  if (options.inputs.size() != 1) {
    return error("the model has ", options.inputs.size(), " inputs, one is needed");
  }
  const scheduler::TensorSpec& spec = options.inputs[0];
  InferInput& input = out->inputs.emplace_back();
  input.name = spec.name;
  input.tensor.type = spec.type;
  std::vector<int64_t> dims = spec.any_rank ? std::vector<int64_t>{-1} : spec.dims;
  if (options.batching.max_batch_size > 1 && !dims.empty() && dims[0] < 0) dims[0] = 1;

  const ByteSpan body(request.body.data(), request.body.size());
  if (spec.type == ElementType::kString) {
    for (int64_t& d : dims) {
      if (d < 0) d = 1;
      if (d != 1) return error("its BYTES input '", spec.name, "' has more than one element");
    }
    ASSIGN_OR_RETURN(input.tensor.shape, CheckedShape(input.name, dims));
    RETURN_IF_ERROR(AllocateTensor(out, &input));
    input.tensor.as<std::string>()->assign(body.begin(), body.end());
    return absl::OkStatus();
  }
  int64_t* free_dim = nullptr;
  int64_t known = engine::ElementBytes(spec.type, 1);
  for (int64_t& d : dims) {
    if (d >= 0) {
      known *= d;
    } else if (free_dim != nullptr) {
      return error("input '", spec.name, "' has more than one free dimension");
    } else {
      free_dim = &d;
    }
  }
  if (free_dim != nullptr) {
    if (known == 0 || static_cast<int64_t>(body.size()) % known != 0) {
      return error(body.size(), " bytes are not a multiple of the ", known, " bytes that input '",
                   spec.name, "' takes per step of its free dimension");
    }
    *free_dim = static_cast<int64_t>(body.size()) / known;
  }
  ASSIGN_OR_RETURN(input.tensor.shape, CheckedShape(input.name, dims));
  return BindRawTensor(BytesView(absl::MakeConstSpan(&body, 1)), out, &input);
}

absl::Status BindBinaryInputs(const HttpRequest& request, size_t offset,
                              const std::vector<BinaryInput>& binary, InferRequest* out) {
  for (const BinaryInput& blob : binary) {
    InferInput& input = out->inputs[blob.index];
    const size_t available = request.body.size() - offset;
    if (static_cast<uint64_t>(blob.bytes) > available) {
      return absl::InvalidArgumentError(absl::StrCat(
          "unexpected size for input '", input.name, "', expecting ", blob.bytes - available,
          " additional bytes for model '", out->model_name, "'"));
    }
    const ByteSpan bytes(request.body.data() + offset, blob.bytes);
    RETURN_IF_ERROR(BindRawTensor(BytesView(absl::MakeConstSpan(&bytes, 1)), out, &input));
    offset += blob.bytes;
  }
  if (offset != request.body.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected additional input data for model '", out->model_name,
                     "': ", request.body.size() - offset, " bytes are left over"));
  }
  return absl::OkStatus();
}

void AppendHead(const InferResponse& response, JsonWriter& json) {
  if (!response.id.empty()) json.Field("id", response.id);
  json.Field("model_name", response.model_name);
  json.Field("model_version", response.model_version);
}

}  // namespace

absl::StatusOr<size_t> JsonPartLength(const std::string& header, std::optional<size_t> body_bytes) {
  int64_t length;
  if (!absl::SimpleAtoi(header, &length)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Unable to parse Inference-Header-Content-Length, got: ", header));
  }
  const auto limit = static_cast<int64_t>(body_bytes.value_or(std::numeric_limits<int32_t>::max()));
  if (length < 0 || length > limit || length > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("inference header size should be in range (0, ", limit, "), got: ", length));
  }
  return static_cast<size_t>(length);
}

absl::Status DecodeInferBody(const HttpRequest& request, ServerContext& context, JsonParser& parser,
                             InferRequest* out, OutputForms* forms) {
  out->payload = request.body.owner();
  size_t json_length = request.body.size();
  if (request.inference_header_length) {
    ASSIGN_OR_RETURN(json_length,
                     JsonPartLength(*request.inference_header_length, request.body.size()));
    if (json_length == 0) {
      forms->binary_default = true;
      return DecodeRawBody(request, context, out);
    }
  }
  JsonInferExtras extras;
  RETURN_IF_ERROR(
      parser.ParseInferRequest(request.body.text().substr(0, json_length), out, &extras));
  RETURN_IF_ERROR(BindBinaryInputs(request, json_length, extras.binary_inputs, out));

  forms->binary_default = extras.binary_output_default.value_or(false);
  for (const RequestedOutput& output : out->outputs) {
    bool binary = forms->binary_default;
    if (const ParameterValue* value = output.parameters.Find("binary_data")) {
      const bool* wanted = std::get_if<bool>(value);
      if (wanted == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("parameter 'binary_data' of output '",
                                                       output.name, "' must be true or false"));
      }
      binary = *wanted;
    }
    forms->binary.push_back(binary);
  }
  return absl::OkStatus();
}

absl::StatusOr<HttpResponse> EncodeInferBody(const InferResponse& response,
                                             const OutputForms& forms) {
  HttpResponse http;
  JsonWriter json(&http.text);
  std::vector<const InferOutput*> binary;
  int64_t binary_bytes = 0;
  json.BeginObject();
  AppendHead(response, json);
  json.Key("outputs");
  json.BeginArray();
  for (size_t i = 0; i < response.outputs.size(); ++i) {
    const InferOutput& output = response.outputs[i];
    const absl::string_view datatype = DatatypeName(output.tensor.type);
    if (datatype.empty()) {
      return absl::UnimplementedError(absl::StrCat(
          "output '", output.name, "' of model '", response.model_name, "' has element type ",
          engine::ElementTypeName(output.tensor.type), ", which the protocol has no datatype for"));
    }
    json.BeginObject();
    json.Field("name", output.name);
    json.Field("datatype", datatype);
    json.Key("shape");
    json.BeginArray();
    for (int64_t d : output.tensor.shape) json.Int(d);
    json.EndArray();
    if (i < forms.binary.size() ? forms.binary[i] : forms.binary_default) {
      const int64_t bytes = RawTensorBytes(output.tensor);
      json.Key("parameters");
      json.BeginObject();
      json.Key("binary_data_size");
      json.Int(bytes);
      json.EndObject();
      binary.push_back(&output);
      binary_bytes += bytes;
    } else {
      json.Key("data");
      if (absl::Status status = json.Elements(output.tensor); !status.ok()) {
        return absl::Status(status.code(),
                            absl::StrCat("output '", output.name, "' of model '",
                                         response.model_name, "': ", status.message()));
      }
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();

  if (binary_bytes == 0) {
    http.content_type = "application/json";
    return http;
  }
  http.content_type = "application/octet-stream";
  http.headers.emplace_back("Inference-Header-Content-Length", absl::StrCat(http.text.size()));
  for (const InferOutput* output : binary) {
    if (output->tensor.type == ElementType::kString) {
      RETURN_IF_ERROR(AppendBytesTensor(output->tensor, &http.text));
      continue;
    }
    const int64_t bytes = output->tensor.num_bytes();
    if (bytes == 0) continue;
    http.pieces.push_back({http.text.size(),
                           ByteSpan(static_cast<const uint8_t*>(output->tensor.data), bytes),
                           output->buffer});
  }
  return http;
}

}  // namespace inferd::server
