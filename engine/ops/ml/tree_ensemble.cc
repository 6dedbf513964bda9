#include "engine/ops/ml/tree_ensemble.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/ops/ml/attribute_lists.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The nodes_* attributes: parallel lists, one element per node.
struct NodeLists {
  std::vector<int64_t> trees, ids, features, if_true, if_false, missing;
  std::vector<std::string> modes;
  std::vector<double> values;
};

absl::StatusOr<NodeLists> ReadNodeLists(const Attributes& a) {
  NodeLists n;
  n.trees = a.GetInts("nodes_treeids");
  n.ids = a.GetInts("nodes_nodeids");
  n.features = a.GetInts("nodes_featureids");
  n.if_true = a.GetInts("nodes_truenodeids");
  n.if_false = a.GetInts("nodes_falsenodeids");
  n.missing = a.GetInts("nodes_missing_value_tracks_true");
  n.modes = a.GetStrings("nodes_modes");
  ASSIGN_OR_RETURN(n.values, ReadNumbers(a, "nodes_values"));
  const size_t count = n.trees.size();
  if (count > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(count, " tree nodes, expected below 2^31"));
  }
  RETURN_IF_ERROR(ExpectValues("nodes_nodeids", n.ids.size(), count));
  RETURN_IF_ERROR(ExpectValues("nodes_featureids", n.features.size(), count));
  RETURN_IF_ERROR(ExpectValues("nodes_truenodeids", n.if_true.size(), count));
  RETURN_IF_ERROR(ExpectValues("nodes_falsenodeids", n.if_false.size(), count));
  RETURN_IF_ERROR(ExpectValues("nodes_modes", n.modes.size(), count));
  RETURN_IF_ERROR(ExpectValues("nodes_values", n.values.size(), count));
  if (!n.missing.empty()) {
    RETURN_IF_ERROR(ExpectValues("nodes_missing_value_tracks_true", n.missing.size(), count));
  }
  return n;
}

using NodeKey = std::pair<int64_t, int64_t>;  // tree, node
using NodeIndex = absl::flat_hash_map<NodeKey, int32_t>;

absl::StatusOr<int32_t> FindNode(const NodeIndex& index, int64_t tree, int64_t id,
                                 const char* what) {
  const auto it = index.find(NodeKey(tree, id));
  if (it == index.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " refers to node ", id, " of tree ", tree, ", which does not exist"));
  }
  return it->second;
}

absl::Status ReadNodes(const NodeLists& lists, const NodeIndex& index, TreeEnsemble* ensemble) {
  const size_t count = lists.trees.size();
  ensemble->nodes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    TreeNode& node = ensemble->nodes[i];
    ASSIGN_OR_RETURN(node.branch, TreeBranchFromName(lists.modes[i]));
    if (node.branch == TreeBranch::kLeaf) continue;
    if (lists.features[i] < 0 || lists.features[i] >= std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(absl::StrCat("node ", lists.ids[i], " of tree ",
                                                     lists.trees[i], " reads feature ",
                                                     lists.features[i], ", expected 0 or more"));
    }
    node.feature = static_cast<int32_t>(lists.features[i]);
    node.threshold = lists.values[i];
    node.missing_tracks_true = !lists.missing.empty() && lists.missing[i] != 0;
    ASSIGN_OR_RETURN(node.if_true,
                     FindNode(index, lists.trees[i], lists.if_true[i], "nodes_truenodeids"));
    ASSIGN_OR_RETURN(node.if_false,
                     FindNode(index, lists.trees[i], lists.if_false[i], "nodes_falsenodeids"));
  }
  return absl::OkStatus();
}

// Votes in the order of their leaves, by counting.
absl::Status ReadVotes(const Attributes& a, const std::string& prefix, int64_t targets,
                       const NodeIndex& index, TreeEnsemble* ensemble) {
  const std::vector<int64_t> trees = a.GetInts(prefix + "_treeids");
  const std::vector<int64_t> ids = a.GetInts(prefix + "_nodeids");
  const std::vector<int64_t> wanted = a.GetInts(prefix + "_ids");
  ASSIGN_OR_RETURN(const std::vector<double> weights, ReadNumbers(a, prefix + "_weights"));
  const size_t count = trees.size();
  RETURN_IF_ERROR(ExpectValues(prefix + "_nodeids", ids.size(), count));
  RETURN_IF_ERROR(ExpectValues(prefix + "_ids", wanted.size(), count));
  RETURN_IF_ERROR(ExpectValues(prefix + "_weights", weights.size(), count));
  std::vector<int32_t> leaf_of(count);
  std::vector<int32_t> votes_at(ensemble->nodes.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    if (wanted[i] < 0 || wanted[i] >= targets) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", prefix, "_ids holds ", wanted[i],
                                                     ", expected a value in [0,", targets - 1,
                                                     "]"));
    }
    ASSIGN_OR_RETURN(leaf_of[i], FindNode(index, trees[i], ids[i], "a vote"));
    ++votes_at[leaf_of[i]];
  }
  int32_t next = 0;
  for (size_t n = 0; n < ensemble->nodes.size(); ++n) {
    ensemble->nodes[n].first = ensemble->nodes[n].last = next;
    next += votes_at[n];
  }
  ensemble->votes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    ensemble->votes[ensemble->nodes[leaf_of[i]].last++] = {static_cast<int32_t>(wanted[i]),
                                                           weights[i]};
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TreeBranch> TreeBranchFromName(const std::string& name) {
  if (name == "BRANCH_LEQ") return TreeBranch::kLessOrEqual;
  if (name == "BRANCH_LT") return TreeBranch::kLess;
  if (name == "BRANCH_GTE") return TreeBranch::kGreaterOrEqual;
  if (name == "BRANCH_GT") return TreeBranch::kGreater;
  if (name == "BRANCH_EQ") return TreeBranch::kEqual;
  if (name == "BRANCH_NEQ") return TreeBranch::kNotEqual;
  if (name == "LEAF") return TreeBranch::kLeaf;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute nodes_modes holds \"", name,
                   "\", expected BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ or LEAF"));
}

absl::StatusOr<std::vector<double>> ReadNumbers(const Attributes& attributes,
                                                const std::string& name) {
  const std::string tensor_name = name + "_as_tensor";
  const Tensor* tensor = attributes.Get<Tensor>(tensor_name);
  const std::vector<float> floats = attributes.GetFloats(name);
  if (tensor == nullptr || tensor->num_elements() == 0) {
    return std::vector<double>(floats.begin(), floats.end());
  }
  if (!floats.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("both ", name, " and ", tensor_name, " are given, expected one"));
  }
  std::vector<double> values;
  const bool numbers = DispatchType<float, double>(tensor->type(), [&]<typename T>() {
    values.assign(tensor->values<T>().begin(), tensor->values<T>().end());
  });
  if (!numbers) {
    return absl::InvalidArgumentError(absl::StrCat("attribute ", tensor_name, " holds ",
                                                   std::string(ElementTypeName(tensor->type())),
                                                   ", expected float or double"));
  }
  return values;
}

absl::Status FinishTrees(TreeEnsemble* ensemble) {
  const int32_t count = static_cast<int32_t>(ensemble->nodes.size());
  std::vector<int32_t> parents(count, 0);
  ensemble->only_less_or_equal = true;
  for (const TreeNode& node : ensemble->nodes) {
    if (node.branch == TreeBranch::kLeaf) continue;
    if (node.branch != TreeBranch::kLessOrEqual || node.missing_tracks_true) {
      ensemble->only_less_or_equal = false;
    }
    ensemble->features = std::max(ensemble->features, node.feature + 1);
    ++parents[node.if_true];
    ++parents[node.if_false];
  }
  // Peel nodes off from the roots: what cannot be peeled lies on a circle or behind one.
  std::vector<int32_t> ready;
  for (int32_t i = 0; i < count; ++i) {
    if (parents[i] == 0) ready.push_back(i);
  }
  if (ensemble->roots.empty()) ensemble->roots = ready;
  int32_t peeled = 0;
  while (!ready.empty()) {
    const TreeNode& node = ensemble->nodes[ready.back()];
    ready.pop_back();
    ++peeled;
    if (node.branch == TreeBranch::kLeaf) continue;
    for (const int32_t child : {node.if_true, node.if_false}) {
      if (--parents[child] == 0) ready.push_back(child);
    }
  }
  if (peeled != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trees have a circle: ", count - peeled, " nodes are on it or behind it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TreeEnsemble> ReadTreeEnsemble(const Attributes& attributes,
                                              const std::string& prefix, int64_t targets) {
  if (targets > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(targets, " targets, expected below 2^31"));
  }
  TreeEnsemble ensemble;
  ASSIGN_OR_RETURN(const NodeLists lists, ReadNodeLists(attributes));
  NodeIndex index;
  index.reserve(lists.trees.size());
  for (size_t i = 0; i < lists.trees.size(); ++i) {
    const NodeKey key(lists.trees[i], lists.ids[i]);
    if (!index.emplace(key, static_cast<int32_t>(i)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", key.second, " of tree ", key.first, " is given twice"));
    }
  }
  RETURN_IF_ERROR(ReadNodes(lists, index, &ensemble));
  RETURN_IF_ERROR(ReadVotes(attributes, prefix, targets, index, &ensemble));
  RETURN_IF_ERROR(FinishTrees(&ensemble));
  return ensemble;
}

}  // namespace inferd::engine
