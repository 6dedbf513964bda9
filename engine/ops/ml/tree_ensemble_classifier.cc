// ai.onnx.ml.TreeEnsembleClassifier: the votes of decision trees for classes.
#include <algorithm>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/parsed_attributes.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/class_labels.h"
#include "engine/ops/ml/post_transform.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/ml/tree_ensemble.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<ClassLabels> Labels(const Attributes& attributes) {
  return ReadClassLabels(attributes, "classlabels_strings", "classlabels_int64s");
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const ClassLabels labels, Labels(context.attributes()));
  ASSIGN_OR_RETURN(const Dim rows, InferRows(context));
  context.SetOutput(0, labels.type(), SymbolicShape({rows}));
  if (context.node().output(1) != nullptr) {
    context.SetOutput(1, ElementType::kFloat32, SymbolicShape({rows, Dim(labels.size())}));
  }
  return absl::OkStatus();
}

struct Classifier {
  TreeEnsemble trees;
  ClassLabels labels;
  std::vector<double> base_values;
  PostTransform transform = PostTransform::kNone;
  // Two classes, but all votes are for one: its score decides between both.
  bool single_score = false;
  bool votes_are_positive = true;
};

absl::StatusOr<Classifier> ReadClassifier(const Attributes& attributes) {
  Classifier c;
  ASSIGN_OR_RETURN(c.labels, Labels(attributes));
  ASSIGN_OR_RETURN(c.transform, ReadPostTransform(attributes));
  ASSIGN_OR_RETURN(c.base_values, ReadNumbers(attributes, "base_values"));
  ASSIGN_OR_RETURN(c.trees, ReadTreeEnsemble(attributes, "class", c.labels.size()));
  absl::flat_hash_set<int32_t> voted;
  for (const TreeVote& vote : c.trees.votes) {
    voted.insert(vote.target);
    c.votes_are_positive = c.votes_are_positive && vote.weight >= 0;
  }
  c.single_score = c.labels.size() == 2 && voted.size() == 1;
  const int64_t bases = static_cast<int64_t>(c.base_values.size());
  if (bases != 0 && bases != c.labels.size() && !(c.single_score && bases == 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute base_values has ", bases, " values, expected ", c.labels.size()));
  }
  return c;
}

// Turns the one score of a two-class model into both; returns the class.
int64_t DecideSingle(const Classifier& c, absl::Span<double> scores) {
  double score = scores[0] + scores[1];  // one of them is 0
  if (!c.base_values.empty()) score += c.base_values.back();
  scores[0] = score;
  ExpandBinaryScore(c.transform,
                    c.votes_are_positive ? SecondScore::kOneMinus : SecondScore::kNegated, scores);
  return score > (c.votes_are_positive ? 0.5 : 0.0) ? 1 : 0;
}

// The best class among those that have a score, the first of equals.
int64_t DecideBest(const Classifier& c, absl::Span<double> scores, const bool* voted) {
  int64_t best = -1;
  for (int64_t i = 0; i < c.labels.size(); ++i) {
    if (!c.base_values.empty()) scores[i] += c.base_values[i];
    if (!voted[i] && c.base_values.empty()) continue;
    if (best < 0 || scores[i] > scores[best]) best = i;
  }
  ApplyPostTransform(c.transform, scores);
  return std::max<int64_t>(0, best);
}

template <typename T>
class ClassifierKernel final : public Kernel {
 public:
  ClassifierKernel(std::shared_ptr<const Classifier> classifier, TableShape table)
      : classifier_(std::move(classifier)), table_(table) {}

  size_t workspace_bytes() const override {
    return table_.rows * classifier_->labels.size() * (sizeof(double) + sizeof(bool));
  }

  absl::Status Run(KernelContext& context) const override {
    const Classifier& c = *classifier_;
    const int64_t classes = c.labels.size();
    double* scores = static_cast<double*>(context.workspace());
    // Whether a class got a vote: one without is no candidate, whatever the others' scores.
    bool* voted = reinterpret_cast<bool*>(scores + table_.rows * classes);
    const T* x = context.input(0).as<T>();
    float* out = context.has_output(1) ? context.output(1).as<float>() : nullptr;
    context.threads().ParallelFor(table_.rows, 16, [&](int64_t begin, int64_t end) {
      std::fill(scores + begin * classes, scores + end * classes, 0.0);
      std::fill(voted + begin * classes, voted + end * classes, false);
      c.trees.ForEachLeaf(x + begin * table_.features, end - begin, table_.features,
                          [&](int64_t row, absl::Span<const TreeVote> votes) {
                            for (const TreeVote& vote : votes) {
                              const int64_t i = (begin + row) * classes + vote.target;
                              scores[i] += vote.weight;
                              voted[i] = true;
                            }
                          });
      for (int64_t r = begin; r < end; ++r) {
        const absl::Span<double> row(scores + r * classes, classes);
        const int64_t winner =
            c.single_score ? DecideSingle(c, row) : DecideBest(c, row, voted + r * classes);
        if (context.has_output(0)) c.labels.Write(winner, r, context.output(0));
        if (out == nullptr) continue;
        for (int64_t k = 0; k < classes; ++k) out[r * classes + k] = static_cast<float>(row[k]);
      }
    });
    return absl::OkStatus();
  }

 private:
  std::shared_ptr<const Classifier> classifier_;
  TableShape table_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Classifier> classifier,
                   ParseAttributesOnce<Classifier>(spec, ReadClassifier));
  ASSIGN_OR_RETURN(const TableShape table, AsTable(spec.input(0).shape));
  if (table.features < classifier->trees.features) {
    return absl::InvalidArgumentError(absl::StrCat("input X has ", table.features,
                                                   " features, but the trees read feature ",
                                                   classifier->trees.features - 1));
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 1, Shape{table.rows, classifier->labels.size()}));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, int32_t, int64_t>(spec.input(0).type, [&]<typename T>() {
    kernel = std::make_unique<ClassifierKernel<T>>(classifier, table);
  });
  return kernel;
}

}  // namespace

void RegisterTreeEnsembleClassifierOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "TreeEnsembleClassifier",
                     .version = 5,
                     .inputs = {{"X", "T1", kTableTypes}},
                     .outputs = {{"Y", "", {ElementType::kString, ElementType::kInt64}},
                                 {"Z", "", {ElementType::kFloat32}}},
                     .attributes = {{"base_values", Kind::kFloats},
                                    {"base_values_as_tensor", Kind::kTensor},
                                    {"class_ids", Kind::kInts},
                                    {"class_nodeids", Kind::kInts},
                                    {"class_treeids", Kind::kInts},
                                    {"class_weights", Kind::kFloats},
                                    {"class_weights_as_tensor", Kind::kTensor},
                                    {"classlabels_int64s", Kind::kInts},
                                    {"classlabels_strings", Kind::kStrings},
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
                                    {"post_transform", Kind::kString}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
