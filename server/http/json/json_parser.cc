#include "server/http/json/json_parser.h"

#include <simdjson.h>

#include <algorithm>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "server/http/json/json_data.h"
#include "server/wire/datatype.h"
#include "server/wire/raw_tensor.h"

namespace inferd::server {
namespace {

using simdjson::ondemand::array;
using simdjson::ondemand::document;
using simdjson::ondemand::json_type;
using simdjson::ondemand::object;
using simdjson::ondemand::value;

// Scratch memory above this is given back after the call.
constexpr size_t kMaxKeptCapacity = 4 << 20;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status Malformed(simdjson::error_code error) {
  return absl::InvalidArgumentError(
      absl::StrCat("failed to parse the request JSON: ", simdjson::error_message(error)));
}

absl::Status Unexpected(absl::string_view what, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("failed to parse the request JSON: ", what, " must be ", expected));
}

#define RETURN_IF_MALFORMED(expr)                                     \
  do {                                                                \
    if (const auto _error = (expr); _error) return Malformed(_error); \
  } while (false)

// Calls fn(key, value) for every member; fn consumes the value or leaves it.
template <typename Fn>
absl::Status ForEachMember(object members, Fn&& fn) {
  for (auto member : members) {
    std::string_view key;
    RETURN_IF_MALFORMED(member.unescaped_key().get(key));
    value v;
    RETURN_IF_MALFORMED(member.value().get(v));
    RETURN_IF_ERROR(fn(View(key), v));
  }
  return absl::OkStatus();
}

absl::Status GetObject(value& v, absl::string_view what, object* out) {
  json_type type;
  RETURN_IF_MALFORMED(v.type().get(type));
  if (type != json_type::object) return Unexpected(what, "an object");
  RETURN_IF_MALFORMED(v.get_object().get(*out));
  return absl::OkStatus();
}

absl::Status GetArray(value& v, absl::string_view what, array* out) {
  json_type type;
  RETURN_IF_MALFORMED(v.type().get(type));
  if (type != json_type::array) return Unexpected(what, "an array");
  RETURN_IF_MALFORMED(v.get_array().get(*out));
  return absl::OkStatus();
}

absl::Status GetString(value& v, absl::string_view what, std::string* out) {
  json_type type;
  RETURN_IF_MALFORMED(v.type().get(type));
  if (type != json_type::string) return Unexpected(what, "a string");
  std::string_view text;
  RETURN_IF_MALFORMED(v.get_string().get(text));
  *out = std::string(text);
  return absl::OkStatus();
}

// The text of a value, which is checked later by whoever reads it.
absl::Status GetRaw(value& v, absl::string_view* out) {
  json_type type;
  RETURN_IF_MALFORMED(v.type().get(type));
  std::string_view text;
  if (type == json_type::array) {
    array a;
    RETURN_IF_MALFORMED(v.get_array().get(a));
    RETURN_IF_MALFORMED(a.raw_json().get(text));
  } else if (type == json_type::object) {
    object o;
    RETURN_IF_MALFORMED(v.get_object().get(o));
    RETURN_IF_MALFORMED(o.raw_json().get(text));
  } else {
    text = v.raw_json_token();
  }
  *out = View(text);
  return absl::OkStatus();
}

// A member nobody knows is passed over, but not to any depth.
absl::Status Ignore(value& v) {
  absl::string_view text;
  RETURN_IF_ERROR(GetRaw(v, &text));
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) {
        return absl::InvalidArgumentError(absl::StrCat(
            "failed to parse the request JSON: nested deeper than ", kMaxJsonDepth, " levels"));
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return absl::OkStatus();
}

absl::Status GetParameters(value& v, absl::string_view what, Parameters* out) {
  object members;
  RETURN_IF_ERROR(GetObject(v, what, &members));
  return ForEachMember(members, [&](absl::string_view key, value& member) -> absl::Status {
    if (out->size() >= kMaxParameters) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxParameters, " parameters in one map"));
    }
    const std::string name(key);
    json_type type;
    RETURN_IF_MALFORMED(member.type().get(type));
    switch (type) {
      case json_type::string: {
        std::string text;
        RETURN_IF_ERROR(GetString(member, name, &text));
        out->Set(name, std::move(text));
        return absl::OkStatus();
      }
      case json_type::boolean: {
        bool b;
        RETURN_IF_MALFORMED(member.get_bool().get(b));
        out->Set(name, b);
        return absl::OkStatus();
      }
      case json_type::number: {
        simdjson::ondemand::number number;
        RETURN_IF_MALFORMED(member.get_number().get(number));
        if (number.is_int64()) {
          out->Set(name, number.get_int64());
        } else if (number.is_uint64()) {
          out->Set(name, number.get_uint64());
        } else {
          out->Set(name, number.get_double());
        }
        return absl::OkStatus();
      }
      default:
        return Unexpected(absl::StrCat("parameter '", name, "'"),
                          "a string, a number, true or false");
    }
  });
}

absl::Status GetDims(value& v, absl::InlinedVector<int64_t, 6>* dims) {
  array elements;
  RETURN_IF_ERROR(GetArray(v, "'shape' of an input", &elements));
  for (auto element : elements) {
    int64_t dim;
    if (element.get_int64().get(dim)) {
      return Unexpected("'shape' of an input", "an array of integers");
    }
    if (dims->size() >= kMaxRank) {
      return absl::InvalidArgumentError(
          absl::StrCat("an input has more than the ", kMaxRank, " dimensions allowed"));
    }
    dims->push_back(dim);
  }
  return absl::OkStatus();
}

absl::Status GetInput(object members, InferRequest* request, JsonInferExtras* extras) {
  const size_t index = request->inputs.size();
  InferInput& input = request->inputs.emplace_back();
  std::string datatype;
  absl::InlinedVector<int64_t, 6> dims;
  bool has_shape = false;
  std::optional<absl::string_view> data;
  RETURN_IF_ERROR(ForEachMember(members, [&](absl::string_view key, value& v) -> absl::Status {
    if (key == "name") return GetString(v, "'name' of an input", &input.name);
    if (key == "datatype") return GetString(v, "'datatype' of an input", &datatype);
    if (key == "parameters") return GetParameters(v, "'parameters' of an input", &input.parameters);
    if (key == "shape") {
      has_shape = true;
      return GetDims(v, &dims);
    }
    if (key == "data") return GetRaw(v, &data.emplace());
    return Ignore(v);
  }));
  auto error = [&](const auto&... text) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input.name, "' for model '", request->model_name, "' ", text...));
  };
  if (datatype.empty()) return error("has no 'datatype'");
  if (!has_shape) return error("has no 'shape'");
  const auto type = DatatypeFromName(datatype);
  if (!type) {
    return error("has unknown datatype '", datatype, "'; known are ", DatatypeNames());
  }
  input.tensor.type = *type;
  ASSIGN_OR_RETURN(input.tensor.shape, CheckedShape(input.name, dims));

  const ParameterValue* binary_size = input.parameters.Find("binary_data_size");
  if (binary_size != nullptr) {
    const auto* bytes = std::get_if<int64_t>(binary_size);
    if (bytes == nullptr || *bytes < 0) {
      return error("has a 'binary_data_size' that is not an integer of at least 0");
    }
    if (data) return error("has both 'data' and 'binary_data_size'; only one may be given");
    extras->binary_inputs.push_back({index, *bytes});
    return absl::OkStatus();
  }
  if (input.parameters.Find("shared_memory_region") != nullptr) return absl::OkStatus();
  if (!data) {
    return absl::InvalidArgumentError(absl::StrCat("unable to find data for input tensor '",
                                                   input.name, "' for model '", request->model_name,
                                                   "' in request."));
  }
  return BindJsonData(*data, request, &input);
}

absl::Status GetOutput(object members, InferRequest* request) {
  RequestedOutput& output = request->outputs.emplace_back();
  return ForEachMember(members, [&](absl::string_view key, value& v) -> absl::Status {
    if (key == "name") return GetString(v, "'name' of an output", &output.name);
    if (key == "parameters") {
      return GetParameters(v, "'parameters' of an output", &output.parameters);
    }
    return Ignore(v);
  });
}

template <typename Fn>
absl::Status ForEachTensor(value& v, absl::string_view what, Fn&& fn) {
  array elements;
  RETURN_IF_ERROR(GetArray(v, what, &elements));
  int count = 0;
  for (auto element : elements) {
    if (++count > kMaxTensorsPerRequest) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxTensorsPerRequest, " entries in ", what));
    }
    value tensor;
    RETURN_IF_MALFORMED(element.get(tensor));
    object members;
    RETURN_IF_ERROR(GetObject(tensor, absl::StrCat("every entry of ", what), &members));
    RETURN_IF_ERROR(fn(members));
  }
  return absl::OkStatus();
}

}  // namespace

class JsonParser::Impl {
 public:
  // Parses `json` as one object and calls fn(key, value) for its members.
  template <typename Fn>
  absl::Status ForEach(absl::string_view json, Fn&& fn) {
    // The parser grows by itself, but never shrinks.
    if (parser_.capacity() > kMaxKeptCapacity) parser_ = simdjson::ondemand::parser();
    document doc;
    RETURN_IF_MALFORMED(
        parser_.iterate(json.data(), json.size(), json.size() + kJsonPadding).get(doc));
    json_type type;
    RETURN_IF_MALFORMED(doc.type().get(type));
    if (type != json_type::object) return Unexpected("the body", "an object");
    object members;
    RETURN_IF_MALFORMED(doc.get_object().get(members));
    RETURN_IF_ERROR(ForEachMember(members, fn));
    const char* rest;
    if (doc.current_location().get(rest) != simdjson::OUT_OF_BOUNDS) {
      return absl::InvalidArgumentError(
          "failed to parse the request JSON: text follows the closing brace");
    }
    return absl::OkStatus();
  }

 private:
  simdjson::ondemand::parser parser_;
};

JsonParser::JsonParser() : impl_(std::make_unique<Impl>()) {}
JsonParser::~JsonParser() = default;

absl::Status JsonParser::ParseInferRequest(absl::string_view json, InferRequest* request,
                                           JsonInferExtras* extras) {
  bool has_inputs = false;
  RETURN_IF_ERROR(impl_->ForEach(json, [&](absl::string_view key, value& v) -> absl::Status {
    if (key == "id") return GetString(v, "'id'", &request->id);
    if (key == "parameters") return GetParameters(v, "'parameters'", &request->parameters);
    if (key == "inputs") {
      if (has_inputs) return Unexpected("'inputs'", "given once");
      has_inputs = true;
      return ForEachTensor(v, "'inputs'",
                           [&](object members) { return GetInput(members, request, extras); });
    }
    if (key == "outputs") {
      return ForEachTensor(v, "'outputs'",
                           [&](object members) { return GetOutput(members, request); });
    }
    return Ignore(v);
  }));
  if (!has_inputs) return Unexpected("the body", "an object with 'inputs'");
  if (const ParameterValue* value = request->parameters.Find("binary_data_output")) {
    const bool* binary = std::get_if<bool>(value);
    if (binary == nullptr) return Unexpected("parameter 'binary_data_output'", "true or false");
    extras->binary_output_default = *binary;
  }
  return absl::OkStatus();
}

absl::StatusOr<Parameters> JsonParser::ParseRepositoryParameters(absl::string_view json) {
  Parameters parameters;
  if (json.empty()) return parameters;
  RETURN_IF_ERROR(impl_->ForEach(json, [&](absl::string_view key, value& v) -> absl::Status {
    if (key == "parameters") return GetParameters(v, "'parameters'", &parameters);
    return Ignore(v);
  }));
  return parameters;
}

absl::StatusOr<bool> JsonParser::ParseReadyFlag(absl::string_view json) {
  bool ready = false;
  if (json.empty()) return ready;
  RETURN_IF_ERROR(impl_->ForEach(json, [&](absl::string_view key, value& v) -> absl::Status {
    if (key != "ready") return Ignore(v);
    if (v.get_bool().get(ready)) return Unexpected("'ready'", "true or false");
    return absl::OkStatus();
  }));
  return ready;
}

}  // namespace inferd::server
