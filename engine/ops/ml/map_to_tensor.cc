// ai.onnx.ml: CastMap and DictVectorizer, which make a row of a map's values.
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"
#include "engine/tensor/composite.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kMap = {ElementType::kComposite};

absl::StatusOr<const Composite*> MapOf(const TensorView& view) {
  const Composite& map = CompositeOf(view);
  if (map.kind == Composite::Kind::kMap && map.items.size() == 2 &&
      map.keys().num_elements() == map.values().num_elements()) {
    return &map;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("input X is a ", CompositeKindName(map.kind), ", expected a map"));
}

// INVALID_ARGUMENT where the input is known to be no map.
absl::Status ExpectMap(const InferenceContext& context) {
  const ValueType& type = context.input_type(0);
  const bool unknown = type.is_tensor() && type.element == ElementType::kUndefined;
  if (unknown || type.kind == ValueType::Kind::kMap) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input X is a ", type.ToString(), ", expected a map"));
}

struct CastMapForm {
  ElementType to = ElementType::kFloat32;
  int64_t length = -1;  // -1: as many values as the map has
};

absl::StatusOr<CastMapForm> ReadCastMapForm(const Attributes& attributes) {
  CastMapForm form;
  const std::string to = attributes.GetString("cast_to", "TO_FLOAT");
  if (to == "TO_STRING") {
    form.to = ElementType::kString;
  } else if (to == "TO_INT64") {
    form.to = ElementType::kInt64;
  } else if (to != "TO_FLOAT") {
    return absl::InvalidArgumentError(absl::StrCat("attribute cast_to is \"", to,
                                                   "\", expected TO_FLOAT, TO_STRING or TO_INT64"));
  }
  const std::string map_form = attributes.GetString("map_form", "DENSE");
  if (map_form == "SPARSE") {
    form.length = attributes.GetInt("max_map", 1);
    if (form.length < 1 || form.length > int64_t{1} << 40) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute max_map is ", form.length, ", expected at least 1"));
    }
  } else if (map_form != "DENSE") {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute map_form is \"", map_form, "\", expected DENSE or SPARSE"));
  }
  return form;
}

absl::Status InferCastMap(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectMap(context));
  ASSIGN_OR_RETURN(const CastMapForm form, ReadCastMapForm(context.attributes()));
  const Dim length = form.length < 0 ? Dim::Unknown() : Dim(form.length);
  context.SetOutput(0, form.to, SymbolicShape({Dim(1), length}));
  return absl::OkStatus();
}

// One value of a map as another type; ONNX Runtime's spelling of numbers in strings.
template <typename To, typename From>
absl::StatusOr<To> Convert(const From& value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, std::string>) {
    return absl::StrFormat("%f", static_cast<double>(value));
  } else if constexpr (std::is_same_v<From, std::string>) {
    ASSIGN_OR_RETURN(const double number, StringToDouble(value));
    return Convert<To, double>(number);
  } else if constexpr (std::is_integral_v<To>) {
    constexpr double kLimit = 9223372036854775808.0;
    const double number = static_cast<double>(value);
    if (number >= -kLimit && number < kLimit) return static_cast<To>(number);
    return absl::InvalidArgumentError(absl::StrCat(number, " is no integer of 64 bits"));
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
absl::Status RunCastMap(const CastMapForm& form, const Composite& map, KernelContext& context) {
  const absl::Span<const int64_t> keys = map.keys().values<int64_t>();
  const absl::Span<const From> values = map.values().values<From>();
  const int64_t count = static_cast<int64_t>(keys.size());
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  const int64_t length = form.length < 0 ? count : form.length;
  ASSIGN_OR_RETURN(const TensorView y, context.AllocateOutput(0, Shape{1, length}));
  To nothing{};
  // As ONNX Runtime fills gaps.
  if constexpr (std::is_same_v<To, std::string>) nothing = "0.f";
  std::fill_n(y.as<To>(), length, nothing);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t key = keys[order[i]];
    const int64_t at = form.length < 0 ? i : key;
    if (at < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the map has key ", key, ", expected keys of 0 or more"));
    }
    if (at >= length) break;
    ASSIGN_OR_RETURN(y.as<To>()[at], (Convert<To, From>(values[order[i]])));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceCastMap(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const CastMapForm form, ReadCastMapForm(spec.attributes()));
  return MakeKernel([form](KernelContext& context) -> absl::Status {
    ASSIGN_OR_RETURN(const Composite* map, MapOf(context.input(0)));
    const ElementType keys = map->keys().type(), values = map->values().type();
    absl::Status status = absl::InvalidArgumentError(absl::StrCat(
        "input X is a map from ", std::string(ElementTypeName(keys)), " to ",
        std::string(ElementTypeName(values)), ", expected one from int64 to float or string"));
    if (keys != ElementType::kInt64) return status;
    DispatchType<float, std::string>(values, [&]<typename From>() {
      DispatchType<float, std::string, int64_t>(
          form.to, [&]<typename To>() { status = RunCastMap<From, To>(form, *map, context); });
    });
    return status;
  });
}

absl::StatusOr<int64_t> VocabularySize(const Attributes& attributes) {
  const size_t ints = attributes.GetInts("int64_vocabulary").size();
  const size_t strings = attributes.GetStrings("string_vocabulary").size();
  if ((ints == 0) != (strings == 0)) return static_cast<int64_t>(ints + strings);
  return absl::InvalidArgumentError(
      absl::StrCat("attributes int64_vocabulary and string_vocabulary have ", ints, " and ",
                   strings, " values, expected exactly one of them"));
}

absl::Status InferVectorizer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectMap(context));
  ASSIGN_OR_RETURN(const int64_t size, VocabularySize(context.attributes()));
  const ValueType& map = context.input_type(0);
  ElementType element = ElementType::kUndefined;
  if (map.inner != nullptr && map.inner->is_tensor()) element = map.inner->element;
  context.SetOutput(0, element, SymbolicShape({Dim(1), Dim(size)}));
  return absl::OkStatus();
}

template <typename K>
std::unique_ptr<Kernel> MakeVectorizer(const std::vector<K>& vocabulary) {
  absl::flat_hash_map<K, int64_t> columns;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    columns.emplace(vocabulary[i], static_cast<int64_t>(i));
  }
  const int64_t width = static_cast<int64_t>(vocabulary.size());
  return MakeKernel([columns = std::move(columns), width](KernelContext& context) -> absl::Status {
    ASSIGN_OR_RETURN(const Composite* map, MapOf(context.input(0)));
    if (map->keys().type() != TypeOf<K>()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the keys of input X are of type ", std::string(ElementTypeName(map->keys().type())),
          ", the vocabulary of ", std::string(ElementTypeName(TypeOf<K>()))));
    }
    const absl::Span<const K> keys = map->keys().values<K>();
    absl::Status status = absl::InvalidArgumentError(absl::StrCat(
        "the values of input X are of type ", std::string(ElementTypeName(map->values().type())),
        ", expected int64, float, double or string"));
    DispatchType<int64_t, float, double, std::string>(map->values().type(), [&]<typename V>() {
      absl::StatusOr<Tensor> row = Tensor::Allocate(TypeOf<V>(), Shape{1, width});
      status = row.status();
      if (!status.ok()) return;
      std::fill_n(row->mutable_data<V>(), width, V{});
      // What the vocabulary does not have is left out.
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto column = columns.find(keys[i]);
        if (column == columns.end()) continue;
        row->mutable_data<V>()[column->second] = map->values().values<V>()[i];
      }
      status = context.SetOutput(0, *std::move(row));
    });
    return status;
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceVectorizer(const NodeSpec& spec) {
  RETURN_IF_ERROR(VocabularySize(spec.attributes()).status());
  const std::vector<std::string> strings = spec.attributes().GetStrings("string_vocabulary");
  if (!strings.empty()) return MakeVectorizer(strings);
  return MakeVectorizer(spec.attributes().GetInts("int64_vocabulary"));
}

}  // namespace

void RegisterMapToTensorOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  using enum ElementType;
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "CastMap",
                     .version = 1,
                     .inputs = {{"X", "", kMap}},
                     .outputs = {{"Y", "", {kString, kFloat32, kInt64}}},
                     .attributes = {{"cast_to", Kind::kString},
                                    {"map_form", Kind::kString},
                                    {"max_map", Kind::kInt}},
                     .infer = InferCastMap,
                     .reference = ReferenceCastMap,
                     .dynamic_outputs = true});
  registry.Register(
      {.domain = "ai.onnx.ml",
       .name = "DictVectorizer",
       .version = 1,
       .inputs = {{"X", "", kMap}},
       .outputs = {{"Y", "", {kString, kFloat32, kFloat64, kInt64}}},
       .attributes = {{"int64_vocabulary", Kind::kInts}, {"string_vocabulary", Kind::kStrings}},
       .infer = InferVectorizer,
       .reference = ReferenceVectorizer,
       .dynamic_outputs = true});
}

}  // namespace inferd::engine
