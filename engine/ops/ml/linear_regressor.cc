// ai.onnx.ml.LinearRegressor: weighted sums of features.
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/linear_model.h"
#include "engine/ops/ml/post_transform.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<int64_t> NumTargets(const Attributes& attributes) {
  const int64_t targets = attributes.GetInt("targets", 1);
  if (targets >= 1 && targets < int64_t{1} << 31) return targets;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute targets is ", targets, ", expected at least 1"));
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const int64_t targets, NumTargets(context.attributes()));
  ASSIGN_OR_RETURN(const Dim rows, InferRows(context));
  context.SetOutput(0, ElementType::kFloat32, SymbolicShape({rows, Dim(targets)}));
  return absl::OkStatus();
}

template <typename T>
class RegressorKernel final : public Kernel {
 public:
  RegressorKernel(LinearModel model, PostTransform transform, int64_t rows)
      : model_(std::move(model)), transform_(transform), rows_(rows) {}

  size_t workspace_bytes() const override { return model_.outputs * sizeof(double); }

  absl::Status Run(KernelContext& context) const override {
    const absl::Span<double> scores(static_cast<double*>(context.workspace()), model_.outputs);
    float* y = context.output(0).as<float>();
    for (int64_t r = 0; r < rows_; ++r) {
      model_.Score(context.input(0).as<T>() + r * model_.features, scores);
      ApplyPostTransform(transform_, scores);
      for (const double s : scores) *y++ = static_cast<float>(s);
    }
    return absl::OkStatus();
  }

 private:
  LinearModel model_;
  PostTransform transform_;
  int64_t rows_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const TableShape table, AsTable(spec.input(0).shape));
  ASSIGN_OR_RETURN(const int64_t targets, NumTargets(spec.attributes()));
  ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(spec.attributes()));
  ASSIGN_OR_RETURN(LinearModel model,
                   ReadLinearModel(spec, table.features, targets, SurplusCoefficients::kRefuse));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape{table.rows, targets}));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, int32_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    kernel = std::make_unique<RegressorKernel<T>>(std::move(model), transform, table.rows);
  });
  return kernel;
}

}  // namespace

void RegisterLinearRegressorOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "LinearRegressor",
                     .version = 1,
                     .inputs = {{"X", "T", kTableTypes}},
                     .outputs = {{"Y", "", {ElementType::kFloat32}}},
                     .attributes = {{"coefficients", Kind::kFloats},
                                    {"intercepts", Kind::kFloats},
                                    {"post_transform", Kind::kString},
                                    {"targets", Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
