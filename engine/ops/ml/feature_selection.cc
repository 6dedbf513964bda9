// ai.onnx.ml: ArrayFeatureExtractor picks columns, FeatureVectorizer puts columns together.
#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/index_tensor.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferExtractor(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  const SymbolicShape& picks = context.shape(1);
  if (!x.has_rank()) {
    context.SetOutput(0, context.element_type(0), {});
    return absl::OkStatus();
  }
  if (x.rank() == 0) return absl::InvalidArgumentError("input X is a scalar and has no columns");
  // All elements of Y pick, whatever its shape is.
  Dim count = picks.has_rank() ? Dim(1) : Dim::Unknown();
  for (int i = 0; picks.has_rank() && i < picks.rank(); ++i) {
    int64_t product = 0;
    if (picks[i] == Dim(1)) continue;
    if (count == Dim(1)) {
      count = picks[i];
    } else if (count.known() && picks[i].known() &&
               !__builtin_mul_overflow(count.value(), picks[i].value(), &product)) {
      count = Dim(product);
    } else {
      count = Dim::Unknown();
      break;
    }
  }
  SymbolicShape y = x.rank() == 1 ? SymbolicShape({Dim(1), count}) : x;
  y[y.rank() - 1] = count;
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceExtractor(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  if (x.rank() == 0) return absl::InvalidArgumentError("input X is a scalar and has no columns");
  const int64_t columns = x[x.rank() - 1];
  const int64_t rows = x.Product(0, x.rank() - 1);
  const int64_t count = spec.input(1).shape.NumElements();
  Shape y = x.rank() == 1 ? Shape{1, count} : x;
  y[y.rank() - 1] = count;
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([=](KernelContext& context) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = IndexAt(context.input(1), i);
      if (!NormalizeIndex(columns, &index)) return IndexOutOfRange("Y", i, index, columns);
      for (int64_t r = 0; r < rows; ++r) {
        copier.Copy(context.input(0).data, r * columns + index, context.output(0).data,
                    r * count + i, 1);
      }
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<int64_t> TotalWidth(const std::vector<int64_t>& widths, int inputs) {
  int64_t total = 0;
  for (const int64_t w : widths) {
    if (w < 0 || __builtin_add_overflow(total, w, &total)) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute inputdimensions holds ", w, ", expected sizes >= 0"));
    }
  }
  if (static_cast<int>(widths.size()) != inputs) {
    return absl::InvalidArgumentError(absl::StrCat("attribute inputdimensions has ", widths.size(),
                                                   " values for ", inputs, " inputs"));
  }
  return total;
}

// Rows along the first axis; whatever the others hold is one row's features. [F] is a single row.
TableShape FlattenToTable(const Shape& x) {
  if (x.rank() < 2) return {1, x.NumElements()};
  return {x[0], x.Product(1, x.rank())};
}

absl::Status InferVectorizer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectAllInputs(context));
  ASSIGN_OR_RETURN(const int64_t width, TotalWidth(context.attributes().GetInts("inputdimensions"),
                                                   context.node().num_inputs()));
  const SymbolicShape& x = context.shape(0);
  const Dim rows = !x.has_rank() ? Dim::Unknown() : x.rank() < 2 ? Dim(1) : x[0];
  context.SetOutput(0, ElementType::kFloat32, SymbolicShape({rows, Dim(width)}));
  return absl::OkStatus();
}

// Copies the first `width` columns of a table into a wider one; missing columns are 0.
template <typename T>
void PlaceColumns(const TensorView& x, const TableShape& table, int64_t width, float* y,
                  int64_t y_width) {
  for (int64_t r = 0; r < table.rows; ++r) {
    const T* row = x.as<T>() + r * table.features;
    for (int64_t c = 0; c < width; ++c) {
      y[r * y_width + c] = c < table.features ? static_cast<float>(row[c]) : 0.0f;
    }
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceVectorizer(const NodeSpec& spec) {
  const std::vector<int64_t> widths = spec.attributes().GetInts("inputdimensions");
  ASSIGN_OR_RETURN(const int64_t total, TotalWidth(widths, static_cast<int>(spec.inputs.size())));
  std::vector<TableShape> tables;
  for (const OperandSpec& x : spec.inputs) {
    tables.push_back(FlattenToTable(x.shape));
    if (tables.back().rows != tables[0].rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("inputs have ", tables[0].rows, " and ", tables.back().rows, " rows"));
    }
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape{tables[0].rows, total}));
  return MakeKernel([widths, tables, total](KernelContext& context) {
    float* y = context.output(0).as<float>();
    for (size_t i = 0; i < tables.size(); ++i) {
      const TensorView& x = context.input(static_cast<int>(i));
      DispatchType<float, double, int32_t, int64_t>(
          x.type, [&]<typename T>() { PlaceColumns<T>(x, tables[i], widths[i], y, total); });
      y += widths[i];
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterFeatureSelectionOps(OpRegistry& registry) {
  constexpr ElementTypeSet kExtractable = kTableTypes | ElementTypeSet{ElementType::kString};
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "ArrayFeatureExtractor",
                     .version = 1,
                     .inputs = {{"X", "T", kExtractable}, {"Y", "", {ElementType::kInt64}}},
                     .outputs = {{"Z", "T", kExtractable}},
                     .infer = InferExtractor,
                     .reference = ReferenceExtractor});
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "FeatureVectorizer",
                     .version = 1,
                     .inputs = {{"X", "", kTableTypes, FormalParameter::Option::kVariadic}},
                     .outputs = {{"Y", "", {ElementType::kFloat32}}},
                     .attributes = {{"inputdimensions", AttributeSpec::Kind::kInts}},
                     .infer = InferVectorizer,
                     .reference = ReferenceVectorizer});
}

}  // namespace inferd::engine
