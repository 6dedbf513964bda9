#include "clients/inferctl/input_flags.h"

#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "clients/inferctl/tensor_source.h"
#include "engine/status_macros.h"
#include "engine/tensor/parse_shape.h"

namespace inferd::client {
namespace {

using engine::Arguments;

const TensorMetadata* FindInput(const ModelMetadata& model, absl::string_view name) {
  for (const TensorMetadata& input : model.inputs) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

absl::Status UnknownInput(const ModelMetadata& model, absl::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat("model '", model.name, "' has no input '", name, "'; it has ",
                   absl::StrJoin(model.inputs, ", ", [](std::string* out, const TensorMetadata& t) {
                     absl::StrAppend(out, "'", t.name, "'");
                   })));
}

absl::StatusOr<ImageOptions> ReadImageOptions(const Arguments& args) {
  ImageOptions image;
  image.invert = args.has("--image-invert");
  image.channels_last = args.has("--image-nhwc");
  constexpr double kAny = std::numeric_limits<double>::lowest();
  ASSIGN_OR_RETURN(image.scale, args.GetDouble("--image-scale", kAny));
  ASSIGN_OR_RETURN(image.mean, args.GetDoubles("--image-mean", kAny));
  ASSIGN_OR_RETURN(image.std, args.GetDoubles("--image-std", kAny));
  return image;
}

}  // namespace

std::optional<std::string> JsonBody(const Arguments& args) {
  for (const std::string& flag : args.All("--input")) {
    if (absl::EndsWith(flag, ".json")) return flag;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<InferTensor>> BuildInputs(const ModelMetadata& model,
                                                     const Arguments& args, bool make_up_missing) {
  if (const std::optional<std::string> body = JsonBody(args); body.has_value()) {
    return ReadInputsJson(*body);
  }
  ASSIGN_OR_RETURN(const ImageOptions image, ReadImageOptions(args));
  ASSIGN_OR_RETURN(const int64_t batch, args.GetInt("--batch", 1, int64_t{1} << 30));
  absl::flat_hash_map<std::string, std::vector<int64_t>> shapes;
  ASSIGN_OR_RETURN(const auto shape_texts, args.GetMap("--shape"));
  for (const auto& [name, text] : shape_texts) {
    if (FindInput(model, name) == nullptr) return UnknownInput(model, name);
    ASSIGN_OR_RETURN(const engine::Shape shape, engine::ParseShape(text));
    shapes[name].assign(shape.begin(), shape.end());
  }

  std::vector<InferTensor> inputs;
  absl::flat_hash_map<std::string, std::string> files;
  for (const std::string& flag : args.All("--input")) {
    std::vector<std::string> parts = absl::StrSplit(flag, absl::MaxSplits('=', 1));
    if (parts.size() == 1) {
      if (model.inputs.size() != 1) {
        return absl::InvalidArgumentError(absl::StrCat("--input: model '", model.name, "' has ",
                                                       model.inputs.size(),
                                                       " inputs; write NAME=FILE"));
      }
      parts = {model.inputs[0].name, parts[0]};
    }
    if (FindInput(model, parts[0]) == nullptr) return UnknownInput(model, parts[0]);
    files[parts[0]] = parts[1];
  }

  std::vector<std::string> missing;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const TensorMetadata& input = model.inputs[i];
    auto file = files.find(input.name);
    if (file == files.end() && !make_up_missing) {
      missing.push_back(input.name);
      continue;
    }
    if (file == files.end() || file->second == "random") {
      ASSIGN_OR_RETURN(const std::vector<int64_t> shape,
                       ConcreteShape(input, shapes[input.name], batch));
      ASSIGN_OR_RETURN(InferTensor tensor, RandomInput(input, shape, i + 1));
      inputs.push_back(std::move(tensor));
      continue;
    }
    ASSIGN_OR_RETURN(InferTensor tensor, ReadInputFile(input, file->second, image));
    inputs.push_back(std::move(tensor));
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("no --input for ", absl::StrJoin(missing, ", "),
                                                   "; NAME=random makes values up"));
  }
  return inputs;
}

}  // namespace inferd::client
