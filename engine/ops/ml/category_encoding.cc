// ai.onnx.ml: OneHotEncoder and CategoryMapper, which look elements up in a list of categories.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

template <typename K, typename V>
absl::flat_hash_map<K, V> MakeTable(const std::vector<K>& keys, const std::vector<V>& values) {
  absl::flat_hash_map<K, V> table;
  // A repeated key keeps its last value.
  for (size_t i = 0; i < keys.size(); ++i) table.insert_or_assign(keys[i], values[i]);
  return table;
}

absl::StatusOr<int64_t> CountCategories(const Attributes& attributes, ElementType input) {
  const size_t ints = attributes.GetInts("cats_int64s").size();
  const size_t strings = attributes.GetStrings("cats_strings").size();
  if ((ints == 0) == (strings == 0)) {
    return absl::InvalidArgumentError(absl::StrCat("attributes cats_int64s and cats_strings have ",
                                                   ints, " and ", strings,
                                                   " values, expected exactly one of them"));
  }
  if (input != ElementType::kUndefined && (input == ElementType::kString) != (strings != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input X holds ", std::string(ElementTypeName(input)), ", the categories are ",
                     strings != 0 ? "strings" : "integers"));
  }
  return static_cast<int64_t>(std::max(ints, strings));
}

absl::Status InferOneHot(InferenceContext& context) {
  ASSIGN_OR_RETURN(const int64_t categories,
                   CountCategories(context.attributes(), context.element_type(0)));
  const SymbolicShape& x = context.shape(0);
  SymbolicShape y;
  if (x.has_rank()) {
    std::vector<Dim> dims = x.dims();
    dims.push_back(Dim(categories));
    y = SymbolicShape(std::move(dims));
  }
  context.SetOutput(0, ElementType::kFloat32, std::move(y));
  return absl::OkStatus();
}

// Numbers are looked up as integers, without their fraction. False for what no integer is.
template <typename T>
bool ToKey(const T& value, int64_t* key) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kLimit = static_cast<T>(9223372036854775808.0);
    if (!(value >= -kLimit && value < kLimit)) return false;
  }
  *key = static_cast<int64_t>(value);
  return true;
}

template <typename T, typename Table>
int64_t FindCategory(const Table& table, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    const auto it = table.find(value);
    return it == table.end() ? -1 : it->second;
  } else {
    int64_t key = 0;
    if (!ToKey(value, &key)) return -1;
    const auto it = table.find(key);
    return it == table.end() ? -1 : it->second;
  }
}

template <typename T, typename Key>
std::unique_ptr<Kernel> MakeOneHot(const std::vector<Key>& categories, int64_t count, bool zeros) {
  std::vector<int64_t> indices(categories.size());
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i);
  const int64_t width = static_cast<int64_t>(categories.size());
  return MakeKernel(
      [table = MakeTable(categories, indices), width, count, zeros](KernelContext& context) {
        const T* x = context.input(0).as<T>();
        float* y = context.output(0).as<float>();
        std::fill_n(y, count * width, 0.0f);
        for (int64_t i = 0; i < count; ++i) {
          const int64_t category = FindCategory(table, x[i]);
          if (category >= 0) {
            y[i * width + category] = 1;
          } else if (!zeros) {
            return absl::InvalidArgumentError(
                absl::StrCat("element ", i, " of input X is ", x[i],
                             ", which is not among the categories, and attribute zeros is 0"));
          }
        }
        return absl::OkStatus();
      });
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceOneHot(const NodeSpec& spec) {
  const OperandSpec& x = spec.input(0);
  ASSIGN_OR_RETURN(const int64_t categories, CountCategories(spec.attributes(), x.type));
  Shape y = x.shape;
  y.push_back(categories);
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  const bool zeros = spec.attributes().GetInt("zeros", 1) != 0;
  const int64_t count = x.shape.NumElements();
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, int32_t, int64_t>(x.type, [&]<typename T>() {
    kernel = MakeOneHot<T>(spec.attributes().GetInts("cats_int64s"), count, zeros);
  });
  if (kernel == nullptr) {
    kernel = MakeOneHot<std::string>(spec.attributes().GetStrings("cats_strings"), count, zeros);
  }
  return kernel;
}

absl::Status InferMapper(InferenceContext& context) {
  const size_t ints = context.attributes().GetInts("cats_int64s").size();
  const size_t strings = context.attributes().GetStrings("cats_strings").size();
  if (ints != strings) {
    return absl::InvalidArgumentError(absl::StrCat("attributes cats_int64s and cats_strings have ",
                                                   ints, " and ", strings,
                                                   " values, expected the same number"));
  }
  ElementType result = ElementType::kUndefined;
  if (context.element_type(0) == ElementType::kString) result = ElementType::kInt64;
  if (context.element_type(0) == ElementType::kInt64) result = ElementType::kString;
  context.SetOutput(0, result, context.shape(0));
  return absl::OkStatus();
}

template <typename K, typename V>
std::unique_ptr<Kernel> MakeMapper(absl::flat_hash_map<K, V> table, V fallback) {
  return MakeKernel(
      [table = std::move(table), fallback = std::move(fallback)](KernelContext& context) {
        const K* x = context.input(0).as<K>();
        V* y = context.output(0).as<V>();
        const int64_t count = context.input(0).num_elements();
        for (int64_t i = 0; i < count; ++i) {
          const auto it = table.find(x[i]);
          y[i] = it == table.end() ? fallback : it->second;
        }
        return absl::OkStatus();
      });
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceMapper(const NodeSpec& spec) {
  const Attributes& a = spec.attributes();
  const std::vector<int64_t> ints = a.GetInts("cats_int64s");
  const std::vector<std::string> strings = a.GetStrings("cats_strings");
  if (spec.input(0).type == ElementType::kString) {
    return MakeMapper(MakeTable(strings, ints), a.GetInt("default_int64", -1));
  }
  return MakeMapper(MakeTable(ints, strings), a.GetString("default_string", "_Unused"));
}

}  // namespace

void RegisterCategoryEncodingOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kLabels = {ElementType::kString, ElementType::kInt64};
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "OneHotEncoder",
                     .version = 1,
                     .inputs = {{"X", "", kTableTypes | ElementTypeSet{ElementType::kString}}},
                     .outputs = {{"Y", "", {ElementType::kFloat32}}},
                     .attributes = {{"cats_int64s", Kind::kInts},
                                    {"cats_strings", Kind::kStrings},
                                    {"zeros", Kind::kInt}},
                     .infer = InferOneHot,
                     .reference = ReferenceOneHot});
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "CategoryMapper",
                     .version = 1,
                     .inputs = {{"X", "", kLabels}},
                     .outputs = {{"Y", "", kLabels}},
                     .attributes = {{"cats_int64s", Kind::kInts},
                                    {"cats_strings", Kind::kStrings},
                                    {"default_int64", Kind::kInt},
                                    {"default_string", Kind::kString}},
                     .infer = InferMapper,
                     .reference = ReferenceMapper});
}

}  // namespace inferd::engine
