// ai.onnx.ml.LabelEncoder: maps each element to another by a table.
#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/parsed_attributes.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes = {ElementType::kString,  ElementType::kInt64,
                                   ElementType::kFloat32, ElementType::kInt32,
                                   ElementType::kInt16,   ElementType::kFloat64};

// A list given as <side>_int64s, _floats, _strings or _tensor, as a tensor.
absl::StatusOr<Tensor> ReadList(const Attributes& attributes, const std::string& side) {
  std::vector<Tensor> found;
  const auto add = [&]<typename T>(const std::vector<T>& values) {
    if (values.empty()) return;
    found.push_back(Tensor::FromValues<T>(Shape{static_cast<int64_t>(values.size())},
                                          absl::Span<const T>(values)));
  };
  add(attributes.GetInts(side + "_int64s"));
  add(attributes.GetFloats(side + "_floats"));
  add(attributes.GetStrings(side + "_strings"));
  if (const Tensor* tensor = attributes.Get<Tensor>(side + "_tensor")) found.push_back(*tensor);
  if (found.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        found.empty() ? "no" : "more than one", " attribute ", side, "_* is given, expected one"));
  }
  return found[0];
}

template <typename V>
V DefaultValue(const Attributes& attributes) {
  if (const Tensor* tensor = attributes.Get<Tensor>("default_tensor")) {
    if (tensor->type() == TypeOf<V>() && tensor->num_elements() == 1) return *tensor->data<V>();
  }
  if constexpr (std::is_same_v<V, std::string>) {
    return attributes.GetString("default_string", "_Unused");
  } else if constexpr (std::is_integral_v<V>) {
    return static_cast<V>(attributes.GetInt("default_int64", -1));
  } else {
    return static_cast<V>(attributes.GetFloat("default_float", -0.0f));
  }
}

// All NaNs are one key.
template <typename K>
struct KeyHash {
  size_t operator()(const K& key) const {
    if constexpr (std::is_floating_point_v<K>) {
      if (std::isnan(key)) return 0x9E3779B97F4A7C15u;
    }
    return absl::Hash<K>()(key);
  }
};
template <typename K>
struct KeyEqual {
  bool operator()(const K& a, const K& b) const { return a == b || (a != a && b != b); }
};

template <typename K, typename V>
struct Encoder {
  absl::flat_hash_map<K, V, KeyHash<K>, KeyEqual<K>> table;
  V fallback;
};

template <typename K, typename V>
absl::StatusOr<std::unique_ptr<Kernel>> MakeEncoder(const NodeSpec& spec, const Tensor& keys,
                                                    const Tensor& values) {
  const auto parse = [&](const Attributes& attributes) -> absl::StatusOr<Encoder<K, V>> {
    Encoder<K, V> encoder;
    encoder.fallback = DefaultValue<V>(attributes);
    // A repeated key keeps its last value.
    for (int64_t i = 0; i < keys.num_elements(); ++i) {
      encoder.table.insert_or_assign(keys.data<K>()[i], values.data<V>()[i]);
    }
    return encoder;
  };
  absl::StatusOr<std::shared_ptr<const Encoder<K, V>>> parsed =
      ParseAttributesOnce<Encoder<K, V>>(spec, parse);
  if (!parsed.ok()) return parsed.status();
  return MakeKernel([encoder = *std::move(parsed)](KernelContext& context) {
    const K* x = context.input(0).as<K>();
    V* y = context.output(0).as<V>();
    const int64_t count = context.input(0).num_elements();
    for (int64_t i = 0; i < count; ++i) {
      const auto it = encoder->table.find(x[i]);
      y[i] = it == encoder->table.end() ? encoder->fallback : it->second;
    }
    return absl::OkStatus();
  });
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const Tensor values, ReadList(context.attributes(), "values"));
  if (!kTypes.contains(values.type())) {
    return absl::InvalidArgumentError(absl::StrCat("the values are of type ",
                                                   std::string(ElementTypeName(values.type())),
                                                   ", expected one of ", kTypes.ToString()));
  }
  context.SetOutput(0, values.type(), context.shape(0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Attributes& attributes = spec.attributes();
  ASSIGN_OR_RETURN(const Tensor keys, ReadList(attributes, "keys"));
  ASSIGN_OR_RETURN(const Tensor values, ReadList(attributes, "values"));
  if (keys.num_elements() != values.num_elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat(keys.num_elements(), " keys for ", values.num_elements(), " values"));
  }
  if (keys.type() != spec.input(0).type) {
    return absl::InvalidArgumentError(
        absl::StrCat("the keys are of type ", std::string(ElementTypeName(keys.type())),
                     ", the input of ", std::string(ElementTypeName(spec.input(0).type))));
  }
  absl::StatusOr<std::unique_ptr<Kernel>> kernel = absl::InternalError("no encoder was made");
  DispatchType<std::string, int64_t, float, int32_t, int16_t, double>(
      keys.type(), [&]<typename K>() {
        DispatchType<std::string, int64_t, float, int32_t, int16_t, double>(
            values.type(), [&]<typename V>() { kernel = MakeEncoder<K, V>(spec, keys, values); });
      });
  return kernel;
}

}  // namespace

void RegisterLabelEncoderOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "LabelEncoder",
                     .version = 4,
                     .inputs = {{"X", "", kTypes}},
                     .outputs = {{"Y", "", kTypes}},
                     .attributes = {{"default_float", Kind::kFloat},
                                    {"default_int64", Kind::kInt},
                                    {"default_string", Kind::kString},
                                    {"default_tensor", Kind::kTensor},
                                    {"keys_floats", Kind::kFloats},
                                    {"keys_int64s", Kind::kInts},
                                    {"keys_strings", Kind::kStrings},
                                    {"keys_tensor", Kind::kTensor},
                                    {"values_floats", Kind::kFloats},
                                    {"values_int64s", Kind::kInts},
                                    {"values_strings", Kind::kStrings},
                                    {"values_tensor", Kind::kTensor}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
