// ai.onnx.ml.TreeEnsemble: regression by trees whose inner nodes and leaves are separate lists.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/ml/attribute_lists.h"
#include "engine/ops/ml/table_input.h"
#include "engine/ops/ml/tree_regression.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat64,
                                   ElementType::kFloat16};

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const int64_t targets, ReadNumTargets(context.attributes()));
  ASSIGN_OR_RETURN(const Dim rows, InferRows(context));
  context.SetOutput(0, context.element_type(0), SymbolicShape({rows, Dim(targets)}));
  return absl::OkStatus();
}

// A tensor attribute of floats of any width; empty where it is absent.
absl::StatusOr<std::vector<double>> ReadTensor(const Attributes& attributes, const char* name) {
  std::vector<double> values;
  const Tensor* tensor = attributes.Get<Tensor>(name);
  if (tensor == nullptr) return values;
  const bool numbers = DispatchType<float, double, Float16>(tensor->type(), [&]<typename T>() {
    for (const T& v : tensor->values<T>()) values.push_back(static_cast<ComputeType<T>>(v));
  });
  if (numbers) return values;
  return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " holds ",
                                                 std::string(ElementTypeName(tensor->type())),
                                                 ", expected floats"));
}

// An enumeration given as a number below `count`.
absl::StatusOr<int64_t> ReadCode(const Attributes& attributes, const char* name,
                                 int64_t default_value, int64_t count) {
  const int64_t code = attributes.GetInt(name, default_value);
  if (code >= 0 && code < count) return code;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute ", name, " is ", code, ", expected a value in [0,", count - 1, "]"));
}

absl::StatusOr<int32_t> CheckedIndex(const char* name, int64_t index, size_t count) {
  if (index >= 0 && index < static_cast<int64_t>(count)) return static_cast<int32_t>(index);
  return absl::InvalidArgumentError(
      absl::StrCat("attribute ", name, " holds ", index, ", expected an index below ", count));
}

// Sets of members end with a NaN, one for each node that tests membership, in order.
absl::Status ReadMembers(const Attributes& attributes, size_t inner, TreeEnsemble* trees) {
  ASSIGN_OR_RETURN(const std::vector<double> values, ReadTensor(attributes, "membership_values"));
  size_t next = 0;
  for (size_t i = 0; i < inner; ++i) {
    TreeNode& node = trees->nodes[i];
    if (node.branch != TreeBranch::kMember) continue;
    node.first = static_cast<int32_t>(trees->members.size());
    while (next < values.size() && !std::isnan(values[next])) {
      trees->members.push_back(values[next++]);
    }
    if (next == values.size()) {
      return absl::InvalidArgumentError(
          "attribute membership_values has fewer sets than nodes test membership");
    }
    ++next;
    node.last = static_cast<int32_t>(trees->members.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<TreeEnsemble> ReadTrees(const Attributes& a, int64_t targets) {
  const std::vector<int64_t> features = a.GetInts("nodes_featureids");
  const std::vector<int64_t> if_true = a.GetInts("nodes_truenodeids");
  const std::vector<int64_t> if_false = a.GetInts("nodes_falsenodeids");
  const std::vector<int64_t> true_leafs = a.GetInts("nodes_trueleafs");
  const std::vector<int64_t> false_leafs = a.GetInts("nodes_falseleafs");
  const std::vector<int64_t> missing = a.GetInts("nodes_missing_value_tracks_true");
  const std::vector<int64_t> leaf_targets = a.GetInts("leaf_targetids");
  ASSIGN_OR_RETURN(const std::vector<double> splits, ReadTensor(a, "nodes_splits"));
  ASSIGN_OR_RETURN(const std::vector<double> weights, ReadTensor(a, "leaf_weights"));
  const Tensor* modes = a.Get<Tensor>("nodes_modes");
  const size_t inner = features.size();
  const size_t leaves = leaf_targets.size();
  if (modes == nullptr || modes->type() != ElementType::kUint8) {
    return absl::InvalidArgumentError("attribute nodes_modes is not a tensor of uint8");
  }
  if (inner + leaves > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError("more than 2^31 tree nodes");
  }
  RETURN_IF_ERROR(ExpectValues("nodes_truenodeids", if_true.size(), inner));
  RETURN_IF_ERROR(ExpectValues("nodes_falsenodeids", if_false.size(), inner));
  RETURN_IF_ERROR(ExpectValues("nodes_trueleafs", true_leafs.size(), inner));
  RETURN_IF_ERROR(ExpectValues("nodes_falseleafs", false_leafs.size(), inner));
  RETURN_IF_ERROR(ExpectValues("nodes_splits", splits.size(), inner));
  RETURN_IF_ERROR(ExpectValues("nodes_modes", modes->num_elements(), inner));
  RETURN_IF_ERROR(ExpectValues("leaf_weights", weights.size(), leaves));
  if (!missing.empty()) {
    RETURN_IF_ERROR(ExpectValues("nodes_missing_value_tracks_true", missing.size(), inner));
  }
  // Inner nodes first, then leaves.
  TreeEnsemble trees;
  trees.nodes.resize(inner + leaves);
  const auto child = [&](const char* name, int64_t index, bool leaf) -> absl::StatusOr<int32_t> {
    ASSIGN_OR_RETURN(const int32_t i, CheckedIndex(name, index, leaf ? leaves : inner));
    return leaf ? static_cast<int32_t>(inner) + i : i;
  };
  for (size_t i = 0; i < inner; ++i) {
    TreeNode& node = trees.nodes[i];
    const uint8_t mode = modes->data<uint8_t>()[i];
    if (mode >= static_cast<uint8_t>(TreeBranch::kLeaf)) {
      return absl::InvalidArgumentError(
          absl::StrCat("attribute nodes_modes holds ", mode, ", expected a value in [0,6]"));
    }
    node.branch = static_cast<TreeBranch>(mode);
    ASSIGN_OR_RETURN(node.feature, CheckedIndex("nodes_featureids", features[i],
                                                std::numeric_limits<int32_t>::max()));
    node.threshold = splits[i];
    node.missing_tracks_true = !missing.empty() && missing[i] != 0;
    ASSIGN_OR_RETURN(node.if_true, child("nodes_truenodeids", if_true[i], true_leafs[i] != 0));
    ASSIGN_OR_RETURN(node.if_false, child("nodes_falsenodeids", if_false[i], false_leafs[i] != 0));
  }
  for (size_t i = 0; i < leaves; ++i) {
    TreeNode& leaf = trees.nodes[inner + i];
    leaf.first = static_cast<int32_t>(i);
    leaf.last = leaf.first + 1;
    ASSIGN_OR_RETURN(const int32_t target,
                     CheckedIndex("leaf_targetids", leaf_targets[i], targets));
    trees.votes.push_back({target, weights[i]});
  }
  RETURN_IF_ERROR(ReadMembers(a, inner, &trees));
  for (const int64_t root : a.GetInts("tree_roots")) {
    ASSIGN_OR_RETURN(trees.roots.emplace_back(), CheckedIndex("tree_roots", root, inner));
  }
  RETURN_IF_ERROR(FinishTrees(&trees));
  return trees;
}

absl::StatusOr<TreeRegression> ReadRegression(const Attributes& attributes) {
  constexpr TreeAggregate kAggregates[] = {TreeAggregate::kAverage, TreeAggregate::kSum,
                                           TreeAggregate::kMin, TreeAggregate::kMax};
  constexpr PostTransform kTransforms[] = {PostTransform::kNone, PostTransform::kSoftmax,
                                           PostTransform::kLogistic, PostTransform::kSoftmaxZero,
                                           PostTransform::kProbit};
  TreeRegression r;
  ASSIGN_OR_RETURN(r.targets, ReadNumTargets(attributes));
  ASSIGN_OR_RETURN(const int64_t aggregate, ReadCode(attributes, "aggregate_function", 1, 4));
  ASSIGN_OR_RETURN(const int64_t transform, ReadCode(attributes, "post_transform", 0, 5));
  r.aggregate = kAggregates[aggregate];
  r.transform = kTransforms[transform];
  ASSIGN_OR_RETURN(r.trees, ReadTrees(attributes, r.targets));
  return r;
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  return MakeTreeRegression(spec, ReadRegression);
}

}  // namespace

void RegisterTreeEnsembleOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.domain = "ai.onnx.ml",
                     .name = "TreeEnsemble",
                     .version = 5,
                     .oldest_version = 5,
                     .inputs = {{"X", "T", kTypes}},
                     .outputs = {{"Y", "T", kTypes}},
                     .attributes = {{"aggregate_function", Kind::kInt},
                                    {"leaf_targetids", Kind::kInts, /*required=*/true},
                                    {"leaf_weights", Kind::kTensor, /*required=*/true},
                                    {"membership_values", Kind::kTensor},
                                    {"n_targets", Kind::kInt},
                                    {"nodes_falseleafs", Kind::kInts, /*required=*/true},
                                    {"nodes_falsenodeids", Kind::kInts, /*required=*/true},
                                    {"nodes_featureids", Kind::kInts, /*required=*/true},
                                    {"nodes_hitrates", Kind::kTensor},
                                    {"nodes_missing_value_tracks_true", Kind::kInts},
                                    {"nodes_modes", Kind::kTensor, /*required=*/true},
                                    {"nodes_splits", Kind::kTensor, /*required=*/true},
                                    {"nodes_trueleafs", Kind::kInts, /*required=*/true},
                                    {"nodes_truenodeids", Kind::kInts, /*required=*/true},
                                    {"post_transform", Kind::kInt},
                                    {"tree_roots", Kind::kInts, /*required=*/true}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
