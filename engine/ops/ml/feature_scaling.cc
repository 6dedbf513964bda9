// ai.onnx.ml: Normalizer, Scaler, Binarizer and Imputer: tables value by value.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferFloat(InferenceContext& context) {
  context.SetOutput(0, ElementType::kFloat32, context.shape(0));
  return absl::OkStatus();
}

// The last axis holds the features, whatever stands before it.
int64_t Features(const Shape& x) { return x.rank() == 0 ? 1 : x[x.rank() - 1]; }

enum class Norm { kMax, kL1, kL2 };

absl::StatusOr<Norm> ReadNorm(const Attributes& attributes) {
  const std::string name = attributes.GetString("norm", "MAX");
  if (name == "MAX") return Norm::kMax;
  if (name == "L1") return Norm::kL1;
  if (name == "L2") return Norm::kL2;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute norm is \"", name, "\", expected MAX, L1 or L2"));
}

template <typename T>
double RowNorm(Norm norm, const T* row, int64_t count) {
  double result = norm == Norm::kMax ? -INFINITY : 0;
  for (int64_t i = 0; i < count; ++i) {
    const double v = static_cast<double>(row[i]);
    switch (norm) {
      case Norm::kMax:
        result = std::max(result, v);
        break;
      case Norm::kL1:
        result += std::abs(v);
        break;
      case Norm::kL2:
        result += v * v;
        break;
    }
  }
  return norm == Norm::kL2 ? std::sqrt(result) : result;
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceNormalizer(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const TableShape table, AsTable(spec.input(0).shape));
  ASSIGN_OR_RETURN(const Norm norm, ReadNorm(spec.attributes()));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, int32_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    kernel = MakeKernel([table, norm](KernelContext& context) {
      for (int64_t r = 0; r < table.rows; ++r) {
        const T* x = context.input(0).as<T>() + r * table.features;
        float* y = context.output(0).as<float>() + r * table.features;
        const double size = RowNorm(norm, x, table.features);
        for (int64_t i = 0; i < table.features; ++i) {
          const double v = static_cast<double>(x[i]);
          y[i] = static_cast<float>(size == 0 ? v : v / size);
        }
      }
      return absl::OkStatus();
    });
  });
  return kernel;
}

// An attribute with one value for all features or one for each; `fallback` where it is absent.
absl::StatusOr<std::vector<float>> PerFeature(const Attributes& attributes, const char* name,
                                              int64_t features, float fallback) {
  std::vector<float> values = attributes.GetFloats(name);
  if (values.empty()) values.push_back(fallback);
  if (values.size() == 1) values.resize(features, values[0]);
  if (static_cast<int64_t>(values.size()) != features) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " has ", values.size(),
                                                   " values, expected 1 or ", features));
  }
  return values;
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceScaler(const NodeSpec& spec) {
  const int64_t features = Features(spec.input(0).shape);
  ASSIGN_OR_RETURN(const auto scale, PerFeature(spec.attributes(), "scale", features, 1));
  ASSIGN_OR_RETURN(const auto offset, PerFeature(spec.attributes(), "offset", features, 0));
  const int64_t count = spec.input(0).shape.NumElements();
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, int32_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    kernel = MakeKernel([scale, offset, features, count](KernelContext& context) {
      const T* x = context.input(0).as<T>();
      float* y = context.output(0).as<float>();
      for (int64_t i = 0; i < count; ++i) {
        const int64_t f = i % features;
        y[i] = static_cast<float>((static_cast<double>(x[i]) - offset[f]) * scale[f]);
      }
      return absl::OkStatus();
    });
  });
  return kernel;
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceBinarizer(const NodeSpec& spec) {
  const float threshold = spec.attributes().GetFloat("threshold", 0);
  const int64_t count = spec.input(0).shape.NumElements();
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, int32_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    kernel = MakeKernel([threshold, count](KernelContext& context) {
      const T* x = context.input(0).as<T>();
      T* y = context.output(0).as<T>();
      for (int64_t i = 0; i < count; ++i) {
        y[i] = static_cast<T>(static_cast<double>(x[i]) > static_cast<double>(threshold));
      }
      return absl::OkStatus();
    });
  });
  return kernel;
}

// What Imputer replaces and by what, in the element type's own kind.
template <typename T>
struct Imputation {
  T replaced{};
  std::vector<T> imputed;
};

template <typename T>
Imputation<T> ReadImputation(const Attributes& attributes) {
  Imputation<T> result;
  if constexpr (std::is_integral_v<T>) {
    result.replaced = static_cast<T>(attributes.GetInt("replaced_value_int64", 0));
    for (const int64_t v : attributes.GetInts("imputed_value_int64s")) {
      result.imputed.push_back(static_cast<T>(v));
    }
  } else {
    result.replaced = static_cast<T>(attributes.GetFloat("replaced_value_float", 0));
    for (const float v : attributes.GetFloats("imputed_value_floats")) {
      result.imputed.push_back(static_cast<T>(v));
    }
  }
  return result;
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceImputer(const NodeSpec& spec) {
  const int64_t features = Features(spec.input(0).shape);
  const int64_t count = spec.input(0).shape.NumElements();
  std::unique_ptr<Kernel> kernel;
  size_t found = 0;
  DispatchType<float, double, int32_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    Imputation<T> imputation = ReadImputation<T>(spec.attributes());
    found = imputation.imputed.size();
    if (found == 1) imputation.imputed.resize(features, imputation.imputed[0]);
    if (static_cast<int64_t>(imputation.imputed.size()) != features) return;
    kernel = MakeKernel([imputation, features, count](KernelContext& context) {
      const T* x = context.input(0).as<T>();
      T* y = context.output(0).as<T>();
      const bool replaces_nan = imputation.replaced != imputation.replaced;
      for (int64_t i = 0; i < count; ++i) {
        const T v = x[i];
        const bool replaced = replaces_nan ? v != v : v == imputation.replaced;
        y[i] = replaced ? imputation.imputed[i % features] : v;
      }
      return absl::OkStatus();
    });
  });
  if (kernel == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the imputed values for this element type number ", found, ", expected 1 or ", features));
  }
  return kernel;
}

OpDef TableOp(const char* name, ElementTypeSet result, InferFn infer, ReferenceFn reference) {
  OpDef op;
  op.domain = "ai.onnx.ml";
  op.name = name;
  op.inputs = {{"X", "T", kTableTypes}};
  op.outputs = {{"Y", result == kTableTypes ? "T" : "", result}};
  op.infer = infer;
  op.reference = reference;
  return op;
}

}  // namespace

void RegisterFeatureScalingOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kFloatOnly = {ElementType::kFloat32};
  OpDef normalizer = TableOp("Normalizer", kFloatOnly, InferFloat, ReferenceNormalizer);
  normalizer.attributes = {{"norm", Kind::kString}};
  registry.Register(std::move(normalizer));

  OpDef scaler = TableOp("Scaler", kFloatOnly, InferFloat, ReferenceScaler);
  scaler.attributes = {{"offset", Kind::kFloats}, {"scale", Kind::kFloats}};
  registry.Register(std::move(scaler));

  OpDef binarizer = TableOp("Binarizer", kTableTypes, InferSameAsInput, ReferenceBinarizer);
  binarizer.attributes = {{"threshold", Kind::kFloat}};
  registry.Register(std::move(binarizer));

  OpDef imputer = TableOp("Imputer", kTableTypes, InferSameAsInput, ReferenceImputer);
  imputer.attributes = {{"imputed_value_floats", Kind::kFloats},
                        {"imputed_value_int64s", Kind::kInts},
                        {"replaced_value_float", Kind::kFloat},
                        {"replaced_value_int64", Kind::kInt}};
  registry.Register(std::move(imputer));
}

}  // namespace inferd::engine
