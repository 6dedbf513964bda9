#include "engine/inferplan/model_inputs.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/onnx/value_file.h"
#include "engine/status_macros.h"
#include "engine/tensor/npy_file.h"
#include "engine/tensor/parse_shape.h"

namespace inferd::engine {
namespace {

template <typename Map>
absl::Status CheckNames(const std::vector<TensorInfo>& inputs, const Map& by_name,
                        absl::string_view flag) {
  for (const auto& [name, unused] : by_name) {
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&, &n = name](const TensorInfo& i) { return i.name == n; });
    if (known) continue;
    std::vector<std::string> names;
    for (const TensorInfo& i : inputs) names.push_back(i.name);
    return absl::InvalidArgumentError(absl::StrCat(flag, ": the model has no input \"", name,
                                                   "\"; it has ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ReadAnyValue(const std::string& path, const ValueType& type) {
  if (absl::EndsWith(path, ".npy")) return ReadNpyFile(path);
  if (absl::EndsWith(path, ".pb")) return ReadValueFile(path, type);
  return absl::InvalidArgumentError(
      absl::StrCat("expected random, zeros, FILE.pb or FILE.npy, found \"", path, "\""));
}

}  // namespace

absl::StatusOr<std::map<std::string, Shape>> ParseShapes(
    const std::map<std::string, std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, text] : texts) {
    ASSIGN_OR_RETURN(shapes[name], ParseShape(text));
  }
  return shapes;
}

absl::StatusOr<std::vector<Shape>> ChooseShapes(const std::vector<TensorInfo>& inputs,
                                                const std::map<std::string, Shape>& shapes,
                                                int64_t free_dim) {
  RETURN_IF_ERROR(CheckNames(inputs, shapes, "--shape"));
  std::vector<Shape> chosen;
  for (const TensorInfo& input : inputs) {
    if (const auto it = shapes.find(input.name); it != shapes.end()) {
      chosen.push_back(it->second);
      continue;
    }
    if (!input.type.is_tensor()) {
      chosen.emplace_back();
      continue;
    }
    const SymbolicShape& declared = input.type.shape;
    if (!declared.has_rank() && input.optional) {
      chosen.emplace_back();
      continue;
    }
    if (!declared.has_rank()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input \"", input.name, "\" has no declared rank; give --shape ", input.name, "=..."));
    }
    Shape shape;
    for (int d = 0; d < declared.rank(); ++d) {
      shape.push_back(declared[d].known() ? declared[d].value() : d == 0 ? 1 : free_dim);
    }
    chosen.push_back(std::move(shape));
  }
  return chosen;
}

absl::StatusOr<Tensor> ZeroTensor(ElementType type, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(type, shape));
  if (type != ElementType::kString) std::memset(tensor.view().data, 0, tensor.num_bytes());
  return tensor;
}

absl::StatusOr<Tensor> RandomTensor(ElementType type, const Shape& shape, uint64_t seed) {
  ASSIGN_OR_RETURN(Tensor tensor, ZeroTensor(type, shape));
  std::mt19937_64 engine(seed);
  const int64_t n = tensor.num_elements();
  std::uniform_real_distribution<float> real(-1.0f, 1.0f);
  DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
    T* data = tensor.mutable_data<T>();
    for (int64_t i = 0; i < n; ++i) data[i] = T(real(engine));
  });
  DispatchType<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
      type, [&]<typename T>() {
        T* data = tensor.mutable_data<T>();
        for (int64_t i = 0; i < n; ++i) data[i] = static_cast<T>(engine() % 8);
      });
  DispatchType<bool>(type, [&]<typename T>() {
    T* data = tensor.mutable_data<T>();
    for (int64_t i = 0; i < n; ++i) data[i] = engine() % 2 == 1;
  });
  DispatchType<std::string>(type, [&]<typename T>() {
    T* data = tensor.mutable_data<T>();
    for (int64_t i = 0; i < n; ++i) data[i] = absl::StrCat(engine() % 1000);
  });
  return tensor;
}

absl::StatusOr<std::vector<Tensor>> MakeInputs(const std::vector<TensorInfo>& inputs,
                                               const std::map<std::string, std::string>& sources,
                                               const std::map<std::string, Shape>& shapes) {
  RETURN_IF_ERROR(CheckNames(inputs, sources, "--input"));
  std::map<std::string, Shape> known = shapes;
  std::map<std::string, Tensor> from_files;
  for (const auto& [name, source] : sources) {
    if (source == "random" || source == "zeros") continue;
    const auto info = std::find_if(inputs.begin(), inputs.end(),
                                   [&](const TensorInfo& i) { return i.name == name; });
    ASSIGN_OR_RETURN(from_files[name], ReadAnyValue(source, info->type));
    known[name] = from_files[name].shape();
  }
  ASSIGN_OR_RETURN(const std::vector<Shape> chosen, ChooseShapes(inputs, known));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].type.is_tensor() && !from_files.contains(inputs[i].name)) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", inputs[i].name, "\" is a ",
                                                     inputs[i].type.ToString(),
                                                     ": give it as --input NAME=FILE.pb"));
    }
    if (const auto it = from_files.find(inputs[i].name); it != from_files.end()) {
      tensors.push_back(it->second);
      continue;
    }
    const auto source = sources.find(inputs[i].name);
    // An input with a default is left out unless asked for.
    if (inputs[i].optional && source == sources.end() && shapes.count(inputs[i].name) == 0) {
      tensors.emplace_back();
      continue;
    }
    const bool zeros = source != sources.end() && source->second == "zeros";
    ASSIGN_OR_RETURN(Tensor tensor, zeros ? ZeroTensor(inputs[i].type.element, chosen[i])
                                          : RandomTensor(inputs[i].type.element, chosen[i], i + 1));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace inferd::engine
