// ai.onnx.ml.ZipMap: each row of scores as a map from class label to score.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/class_labels.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"
#include "engine/tensor/composite.h"

namespace inferd::engine {
namespace {

absl::StatusOr<ClassLabels> Labels(const Attributes& attributes) {
  return ReadClassLabels(attributes, "classlabels_strings", "classlabels_int64s");
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ClassLabels labels, Labels(context.attributes()));
  RETURN_IF_ERROR(InferRows(context).status());
  const ValueType score =
      ValueType::TensorOf(ElementType::kFloat32, SymbolicShape(std::vector<Dim>{}));
  context.SetOutput(0, ValueType::SequenceOf(ValueType::MapOf(labels.type(), score)));
  return absl::OkStatus();
}

// The keys of every row's map, in ascending order, and the columns their values are in. Of columns
// with the same label the last one counts.
struct Keys {
  Tensor labels;
  std::vector<int64_t> columns;
};

template <typename T>
Keys SortKeys(const std::vector<T>& labels) {
  std::vector<int64_t> columns(labels.size());
  std::iota(columns.begin(), columns.end(), 0);
  std::stable_sort(columns.begin(), columns.end(),
                   [&](int64_t a, int64_t b) { return labels[a] < labels[b]; });
  Keys keys;
  std::vector<T> sorted;
  for (const int64_t column : columns) {
    if (!sorted.empty() && sorted.back() == labels[column]) {
      keys.columns.back() = column;
      continue;
    }
    sorted.push_back(labels[column]);
    keys.columns.push_back(column);
  }
  keys.labels = Tensor::FromValues<T>(Shape{static_cast<int64_t>(sorted.size())},
                                      absl::Span<const T>(sorted));
  return keys;
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const TableShape table, AsTable(spec.input(0).shape));
  ASSIGN_OR_RETURN(const ClassLabels labels, Labels(spec.attributes()));
  if (labels.size() != table.features) {
    return absl::InvalidArgumentError(absl::StrCat("input X has ", table.features, " columns for ",
                                                   labels.size(), " class labels"));
  }
  Keys keys = labels.uses_strings() ? SortKeys(labels.strings) : SortKeys(labels.integers);
  return MakeKernel([table, keys = std::move(keys)](KernelContext& context) -> absl::Status {
    const int64_t width = static_cast<int64_t>(keys.columns.size());
    const float* x = context.input(0).as<float>();
    // One block of memory for the values of all maps.
    ASSIGN_OR_RETURN(const Tensor values,
                     Tensor::Allocate(ElementType::kFloat32, Shape{table.rows, width}));
    float* y = static_cast<float*>(values.view().data);
    Composite sequence;
    sequence.items.reserve(table.rows);
    for (int64_t r = 0; r < table.rows; ++r) {
      for (int64_t k = 0; k < width; ++k) {
        y[r * width + k] = x[r * table.features + keys.columns[k]];
      }
      Tensor row(ElementType::kFloat32, Shape{width}, values.buffer(), r * width * sizeof(float));
      sequence.items.push_back(
          MakeComposite({.kind = Composite::Kind::kMap, .items = {keys.labels, std::move(row)}}));
    }
    return context.SetOutput(0, MakeComposite(std::move(sequence)));
  });
}

}  // namespace

void RegisterZipMapOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register(
      {.domain = "ai.onnx.ml",
       .name = "ZipMap",
       .version = 1,
       .inputs = {{"X", "", {ElementType::kFloat32}}},
       .outputs = {{"Z", "", {ElementType::kComposite}}},
       .attributes = {{"classlabels_int64s", Kind::kInts}, {"classlabels_strings", Kind::kStrings}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
