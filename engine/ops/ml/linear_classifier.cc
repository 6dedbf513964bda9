// ai.onnx.ml.LinearClassifier: the class with the largest weighted sum of features.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/class_labels.h"
#include "engine/ops/ml/linear_model.h"
#include "engine/ops/ml/post_transform.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// How many weighted sums the model has: one per intercept, or, without any, one per label.
struct Outputs {
  ClassLabels labels;
  int64_t sums = 0;
  // One sum decides between two labels.
  bool binary() const { return sums == 1 && labels.size() == 2; }
  int64_t scores() const { return binary() ? 2 : sums; }
};

absl::StatusOr<Outputs> ReadOutputs(const Attributes& attributes) {
  Outputs o;
  ASSIGN_OR_RETURN(o.labels,
                   ReadClassLabels(attributes, "classlabels_strings", "classlabels_ints"));
  const int64_t intercepts = static_cast<int64_t>(attributes.GetFloats("intercepts").size());
  o.sums = intercepts == 0 ? o.labels.size() : intercepts;
  return o;
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const Outputs outputs, ReadOutputs(context.attributes()));
  ASSIGN_OR_RETURN(const Dim rows, InferRows(context));
  context.SetOutput(0, outputs.labels.type(), SymbolicShape({rows}));
  if (context.node().output(1) != nullptr) {
    context.SetOutput(1, ElementType::kFloat32, SymbolicShape({rows, Dim(outputs.scores())}));
  }
  return absl::OkStatus();
}

template <typename T>
class ClassifierKernel final : public Kernel {
 public:
  ClassifierKernel(Outputs outputs, LinearModel model, PostTransform transform, int64_t rows)
      : outputs_(std::move(outputs)),
        model_(std::move(model)),
        transform_(transform),
        rows_(rows) {}

  size_t workspace_bytes() const override { return outputs_.scores() * sizeof(double); }

  absl::Status Run(KernelContext& context) const override {
    const absl::Span<double> scores(static_cast<double*>(context.workspace()), outputs_.scores());
    float* z = context.has_output(1) ? context.output(1).as<float>() : nullptr;
    for (int64_t r = 0; r < rows_; ++r) {
      model_.Score(context.input(0).as<T>() + r * model_.features, scores);
      int64_t winner;
      if (outputs_.binary()) {
        winner = scores[0] > 0 ? 1 : 0;
        ExpandBinaryScore(transform_, SecondScore::kOneMinus, scores);
      } else {
        winner = std::max_element(scores.begin(), scores.end()) - scores.begin();
        ApplyPostTransform(transform_, scores);
      }
      if (context.has_output(0)) outputs_.labels.Write(winner, r, context.output(0));
      if (z == nullptr) continue;
      for (const double s : scores) *z++ = static_cast<float>(s);
    }
    return absl::OkStatus();
  }

 private:
  Outputs outputs_;
  LinearModel model_;
  PostTransform transform_;
  int64_t rows_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const TableShape table, AsTable(spec.input(0).shape));
  ASSIGN_OR_RETURN(Outputs outputs, ReadOutputs(spec.attributes()));
  ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(spec.attributes()));
  // Published models declare fewer features than they have coefficients for; ONNX Runtime reads
  // the first of them, and what it answers is what such a model means.
  ASSIGN_OR_RETURN(LinearModel model, ReadLinearModel(spec, table.features, outputs.sums,
                                                      SurplusCoefficients::kIgnore));
  RETURN_IF_ERROR(CheckOutputShape(spec, 1, Shape{table.rows, outputs.scores()}));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, int32_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    kernel = std::make_unique<ClassifierKernel<T>>(std::move(outputs), std::move(model), transform,
                                                   table.rows);
  });
  return kernel;
}

}  // namespace

void RegisterLinearClassifierOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "LinearClassifier",
                     .version = 1,
                     .inputs = {{"X", "T1", kTableTypes}},
                     .outputs = {{"Y", "", {ElementType::kString, ElementType::kInt64}},
                                 {"Z", "", {ElementType::kFloat32}}},
                     .attributes = {{"classlabels_ints", Kind::kInts},
                                    {"classlabels_strings", Kind::kStrings},
                                    {"coefficients", Kind::kFloats, /*required=*/true},
                                    {"intercepts", Kind::kFloats},
                                    {"multi_class", Kind::kInt},
                                    {"post_transform", Kind::kString}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
