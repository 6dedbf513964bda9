#include "clients/inferctl/tensor_source.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <cstring>
#include <optional>
#include <random>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/inferctl/image_file.h"
#include "engine/onnx/tensor_file.h"
#include "engine/status_macros.h"
#include "engine/tensor/npy_file.h"
#include "engine/whole_file.h"

namespace inferd::client {
namespace {

using engine::ElementType;
using server::DatatypeName;

ElementType DatatypeFromName(absl::string_view name) {
  return server::DatatypeFromName(name).value_or(ElementType::kUndefined);
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

absl::StatusOr<int64_t> CountElements(const std::vector<int64_t>& shape) {
  return engine::Shape(absl::MakeConstSpan(shape)).CheckedNumElements();
}

absl::StatusOr<InferTensor> FromImage(const TensorMetadata& metadata, const std::string& path,
                                      const ImageOptions& options) {
  const std::vector<int64_t>& shape = metadata.shape;
  if (shape.size() != 4 || metadata.datatype != "FP32") {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": an image needs an FP32 input of rank 4, '", metadata.name, "' is ",
                     metadata.datatype, " ", ShapeText(shape)));
  }
  const int channel_axis = options.channels_last ? 3 : 1;
  const int height_axis = options.channels_last ? 1 : 2;
  const int64_t channels = shape[channel_axis];
  ASSIGN_OR_RETURN(const Image image, ReadImage(path, static_cast<int>(channels)));
  const int64_t height = shape[height_axis] < 0 ? image.height : shape[height_axis];
  const int64_t width = shape[height_axis + 1] < 0 ? image.width : shape[height_axis + 1];
  const std::vector<float> pixels =
      ResizeToFloat(image, static_cast<int>(width), static_cast<int>(height));
  auto per_channel = [&](const std::vector<double>& values, int64_t c, double fallback) {
    return values.empty() ? fallback : values[values.size() == 1 ? 0 : c];
  };
  for (const std::vector<double>* v : {&options.mean, &options.std}) {
    if (v->size() > 1 && static_cast<int64_t>(v->size()) != channels) {
      return absl::InvalidArgumentError(
          absl::StrCat("mean and std take one value or one per channel: ", channels,
                       " here, found ", v->size()));
    }
  }
  std::vector<float> elements(pixels.size());
  for (int64_t i = 0; i < height * width; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      double v = pixels[i * channels + c] / 255.0;
      if (options.invert) v = 1.0 - v;
      v = (v * options.scale - per_channel(options.mean, c, 0)) / per_channel(options.std, c, 1);
      elements[options.channels_last ? i * channels + c : c * height * width + i] =
          static_cast<float>(v);
    }
  }
  std::vector<int64_t> actual = options.channels_last
                                    ? std::vector<int64_t>{1, height, width, channels}
                                    : std::vector<int64_t>{1, channels, height, width};
  return InferTensor::FromValues<float>(metadata.name, std::move(actual), elements);
}

// `path` is for errors.
absl::StatusOr<InferTensor> FromTensor(const TensorMetadata& metadata, const engine::Tensor& tensor,
                                       const std::string& path) {
  std::vector<int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  if (tensor.type() == ElementType::kString) {
    return InferTensor::FromStrings(metadata.name, std::move(shape), tensor.values<std::string>());
  }
  const absl::string_view datatype = DatatypeName(tensor.type());
  if (datatype.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the protocol carries no ", engine::ElementTypeName(tensor.type())));
  }
  return InferTensor{metadata.name, std::string(datatype), std::move(shape),
                     std::string(static_cast<const char*>(tensor.view().data), tensor.num_bytes())};
}

absl::StatusOr<InferTensor> FromRaw(const TensorMetadata& metadata, const std::string& path) {
  ASSIGN_OR_RETURN(std::string bytes, engine::ReadFile(path));
  if (metadata.datatype == "BYTES") {
    // The file as one string: text goes in without any encoding.
    return InferTensor::FromStrings(metadata.name, std::vector<int64_t>(metadata.shape.size(), 1),
                                    std::vector<std::string>{std::move(bytes)});
  }
  const int64_t width = engine::ElementBits(DatatypeFromName(metadata.datatype)) / 8;
  if (width == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", metadata.name, "' has unknown datatype ", metadata.datatype));
  }
  std::vector<int64_t> shape = metadata.shape;
  int64_t known = 1;
  int free_axis = -1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) {
      known *= shape[i];
    } else if (free_axis < 0) {
      free_axis = static_cast<int>(i);
    } else {
      shape[i] = 1;
    }
  }
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t unit = known * width;
  if (free_axis >= 0 && unit > 0 && size % unit == 0) shape[free_axis] = size / unit;
  ASSIGN_OR_RETURN(const int64_t count, CountElements(shape));
  if (count * width != size) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", size, " bytes do not fill input '",
                                                   metadata.name, "' ", metadata.datatype, " ",
                                                   ShapeText(metadata.shape)));
  }
  return InferTensor{metadata.name, metadata.datatype, std::move(shape), std::move(bytes)};
}

// Appends the leaves of a nested JSON array; each must be a number, a boolean or a string.
template <typename Fn>
absl::Status ForEachLeaf(const rapidjson::Value& value, const Fn& fn, int depth = 0) {
  if (depth > 32) return absl::InvalidArgumentError("data is nested deeper than 32 levels");
  if (!value.IsArray()) return fn(value);
  for (const rapidjson::Value& item : value.GetArray()) {
    RETURN_IF_ERROR(ForEachLeaf(item, fn, depth + 1));
  }
  return absl::OkStatus();
}

// Null where there is none.
const rapidjson::Value* Member(const rapidjson::Value& object, const char* name) {
  const auto it = object.FindMember(name);
  return it == object.MemberEnd() ? nullptr : &it->value;
}

// std::in_range takes no bool; a byte has its values and more, which the cast then makes true.
template <typename T>
using RangeOf = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// A JSON number or boolean as T; nullopt where an integer type cannot hold it.
template <typename T>
std::optional<T> ElementOf(const rapidjson::Value& v) {
  if constexpr (std::is_integral_v<T>) {
    if (v.IsBool()) return static_cast<T>(v.GetBool());
    if (v.IsUint64() && std::in_range<RangeOf<T>>(v.GetUint64())) {
      return static_cast<T>(v.GetUint64());
    }
    if (v.IsInt64() && std::in_range<RangeOf<T>>(v.GetInt64())) {
      return static_cast<T>(v.GetInt64());
    }
    return std::nullopt;
  } else {
    const double number = v.IsBool() ? v.GetBool() : v.GetDouble();
    return static_cast<T>(static_cast<engine::ComputeType<T>>(number));
  }
}

absl::StatusOr<InferTensor> FromJsonInput(const rapidjson::Value& input) {
  auto bad = [](absl::string_view why) { return absl::InvalidArgumentError(std::string(why)); };
  if (!input.IsObject()) return bad("each input is an object");
  const rapidjson::Value* const name = Member(input, "name");
  const rapidjson::Value* const datatype = Member(input, "datatype");
  const rapidjson::Value* const shape = Member(input, "shape");
  const rapidjson::Value* const data = Member(input, "data");
  if (name == nullptr || !name->IsString() || datatype == nullptr || !datatype->IsString() ||
      shape == nullptr || !shape->IsArray() || data == nullptr) {
    return bad("each input needs name, datatype, shape and data");
  }
  InferTensor tensor{name->GetString(), datatype->GetString(), {}, {}};
  for (const rapidjson::Value& d : shape->GetArray()) {
    if (!d.IsInt64()) return bad("a dimension is not a whole number");
    tensor.shape.push_back(d.GetInt64());
  }
  const ElementType type = DatatypeFromName(tensor.datatype);
  if (type == ElementType::kString) {
    std::vector<std::string> strings;
    RETURN_IF_ERROR(ForEachLeaf(*data, [&](const rapidjson::Value& v) {
      if (!v.IsString()) return bad("BYTES data must be strings");
      strings.emplace_back(v.GetString(), v.GetStringLength());
      return absl::OkStatus();
    }));
    return InferTensor::FromStrings(tensor.name, tensor.shape, strings);
  }
  absl::Status status =
      absl::InvalidArgumentError(absl::StrCat("unknown datatype ", tensor.datatype));
  engine::DispatchType<float, double, engine::Float16, engine::BFloat16, uint8_t, int8_t, uint16_t,
                       int16_t, uint32_t, int32_t, uint64_t, int64_t, bool>(
      type, [&]<typename T>() {
        status = ForEachLeaf(*data, [&](const rapidjson::Value& v) {
          if (!v.IsNumber() && !v.IsBool()) return bad("data must be numbers");
          const std::optional<T> number = ElementOf<T>(v);
          if (!number.has_value()) {
            return absl::InvalidArgumentError(
                absl::StrCat("a value does not fit ", tensor.datatype));
          }
          const T element = *number;
          tensor.data.append(reinterpret_cast<const char*>(&element), sizeof(T));
          return absl::OkStatus();
        });
      });
  RETURN_IF_ERROR(status);
  return tensor;
}

}  // namespace

absl::StatusOr<InferTensor> ReadInputFile(const TensorMetadata& metadata, const std::string& path,
                                          const ImageOptions& image) {
  if (absl::EndsWith(path, ".npy")) {
    ASSIGN_OR_RETURN(const engine::Tensor tensor, engine::ReadNpyFile(path));
    return FromTensor(metadata, tensor, path);
  }
  if (absl::EndsWith(path, ".pb")) {
    ASSIGN_OR_RETURN(const engine::Tensor tensor, engine::ReadTensorFile(path));
    return FromTensor(metadata, tensor, path);
  }
  for (absl::string_view ending : {".png", ".jpg", ".jpeg"}) {
    if (absl::EndsWithIgnoreCase(path, ending)) return FromImage(metadata, path, image);
  }
  return FromRaw(metadata, path);
}

absl::StatusOr<std::vector<InferTensor>> ReadInputsJson(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, engine::ReadFile(path));
  rapidjson::Document document;
  document.Parse<rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag>(text.data(),
                                                                                  text.size());
  if (document.HasParseError()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not JSON: ", rapidjson::GetParseError_En(document.GetParseError()),
                     " at byte ", document.GetErrorOffset()));
  }
  const rapidjson::Value* const listed = document.IsObject() ? Member(document, "inputs") : nullptr;
  if (listed == nullptr || !listed->IsArray()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a request body, {\"inputs\": [...]}"));
  }
  std::vector<InferTensor> inputs;
  for (const rapidjson::Value& input : listed->GetArray()) {
    absl::StatusOr<InferTensor> tensor = FromJsonInput(input);
    if (!tensor.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", input ", inputs.size(), ": ", tensor.status().message()));
    }
    inputs.push_back(*std::move(tensor));
  }
  return inputs;
}

absl::StatusOr<InferTensor> RandomInput(const TensorMetadata& metadata,
                                        const std::vector<int64_t>& shape, uint64_t seed) {
  ASSIGN_OR_RETURN(const int64_t count, CountElements(shape));
  std::mt19937_64 random(seed);
  const ElementType type = DatatypeFromName(metadata.datatype);
  if (type == ElementType::kString) {
    std::vector<std::string> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(absl::StrCat(random() % 1000));
    return InferTensor::FromStrings(metadata.name, shape, values);
  }
  InferTensor tensor{metadata.name, metadata.datatype, shape, {}};
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  const bool known = engine::DispatchType<float, double, engine::Float16, engine::BFloat16>(
                         type,
                         [&]<typename T>() {
                           for (int64_t i = 0; i < count; ++i) {
                             const T v = static_cast<T>(uniform(random));
                             tensor.data.append(reinterpret_cast<const char*>(&v), sizeof(T));
                           }
                         }) ||
                     engine::DispatchType<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t,
                                          uint64_t, int64_t, bool>(type, [&]<typename T>() {
                       for (int64_t i = 0; i < count; ++i) {
                         const T v = static_cast<T>(random() % (std::is_same_v<T, bool> ? 2 : 10));
                         tensor.data.append(reinterpret_cast<const char*>(&v), sizeof(T));
                       }
                     });
  if (!known) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", metadata.name, "' has unknown datatype ", metadata.datatype));
  }
  return tensor;
}

absl::StatusOr<std::vector<int64_t>> ConcreteShape(const TensorMetadata& metadata,
                                                   const std::vector<int64_t>& given,
                                                   int64_t batch) {
  if (!given.empty()) {
    bool fits = given.size() == metadata.shape.size();
    for (size_t i = 0; fits && i < given.size(); ++i) {
      fits = metadata.shape[i] < 0 || metadata.shape[i] == given[i];
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", ShapeText(given),
                                                     " does not fit input '", metadata.name, "' ",
                                                     ShapeText(metadata.shape)));
    }
    return given;
  }
  std::vector<int64_t> shape = metadata.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) shape[i] = i == 0 ? batch : 1;
  }
  return shape;
}

}  // namespace inferd::client
