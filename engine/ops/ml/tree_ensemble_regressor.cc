// ai.onnx.ml.TreeEnsembleRegressor: the sum, mean, least or greatest of what trees predict.
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/ml/tree_regression.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<TreeAggregate> ReadAggregate(const Attributes& attributes) {
  const std::string name = attributes.GetString("aggregate_function", "SUM");
  if (name == "SUM") return TreeAggregate::kSum;
  if (name == "AVERAGE") return TreeAggregate::kAverage;
  if (name == "MIN") return TreeAggregate::kMin;
  if (name == "MAX") return TreeAggregate::kMax;
  return absl::InvalidArgumentError(absl::StrCat("attribute aggregate_function is \"", name,
                                                 "\", expected SUM, AVERAGE, MIN or MAX"));
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const int64_t targets, ReadNumTargets(context.attributes()));
  ASSIGN_OR_RETURN(const Dim rows, InferRows(context));
  context.SetOutput(0, ElementType::kFloat32, SymbolicShape({rows, Dim(targets)}));
  return absl::OkStatus();
}

absl::StatusOr<TreeRegression> ReadRegression(const Attributes& attributes) {
  TreeRegression r;
  ASSIGN_OR_RETURN(r.targets, ReadNumTargets(attributes));
  ASSIGN_OR_RETURN(r.aggregate, ReadAggregate(attributes));
  ASSIGN_OR_RETURN(r.transform, ReadPostTransform(attributes));
  ASSIGN_OR_RETURN(r.base_values, ReadNumbers(attributes, "base_values"));
  ASSIGN_OR_RETURN(r.trees, ReadTreeEnsemble(attributes, "target", r.targets));
  if (!r.base_values.empty() && static_cast<int64_t>(r.base_values.size()) != r.targets) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute base_values has ", r.base_values.size(), " values, expected ", r.targets));
  }
  return r;
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  return MakeTreeRegression(spec, ReadRegression);
}

}  // namespace

void RegisterTreeEnsembleRegressorOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "TreeEnsembleRegressor",
                     .version = 5,
                     .inputs = {{"X", "T", kTableTypes}},
                     .outputs = {{"Y", "", {ElementType::kFloat32}}},
                     .attributes = {{"aggregate_function", Kind::kString},
                                    {"base_values", Kind::kFloats},
                                    {"base_values_as_tensor", Kind::kTensor},
                                    {"n_targets", Kind::kInt},
                                    {"nodes_falsenodeids", Kind::kInts},
                                    {"nodes_featureids", Kind::kInts},
                                    {"nodes_hitrates", Kind::kFloats},
                                    {"nodes_hitrates_as_tensor", Kind::kTensor},
                                    {"nodes_missing_value_tracks_true", Kind::kInts},
                                    {"nodes_modes", Kind::kStrings},
                                    {"nodes_nodeids", Kind::kInts},
                                    {"nodes_treeids", Kind::kInts},
                                    {"nodes_truenodeids", Kind::kInts},
                                    {"nodes_values", Kind::kFloats},
                                    {"nodes_values_as_tensor", Kind::kTensor},
                                    {"post_transform", Kind::kString},
                                    {"target_ids", Kind::kInts},
                                    {"target_nodeids", Kind::kInts},
                                    {"target_treeids", Kind::kInts},
                                    {"target_weights", Kind::kFloats},
                                    {"target_weights_as_tensor", Kind::kTensor}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
