// Decision-tree ensembles in one flat form, built from the attributes of any of the standard's
// tree operators.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/ir/attribute.h"

namespace inferd::engine {

enum class TreeBranch : uint8_t {
  kLessOrEqual,
  kLess,
  kGreaterOrEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember,  // x is in a set
  kLeaf
};
// "BRANCH_LEQ" and so on; INVALID_ARGUMENT for other spellings.
absl::StatusOr<TreeBranch> TreeBranchFromName(const std::string& name);

struct TreeNode {
  TreeBranch branch = TreeBranch::kLeaf;
  bool missing_tracks_true = false;  // a NaN takes the true branch
  int32_t feature = 0;
  double threshold = 0;
  int32_t if_true = -1;  // node indices; unused at leaves
  int32_t if_false = -1;
  // A range of votes at a leaf, of members at kMember.
  int32_t first = 0;
  int32_t last = 0;
};

// What a leaf adds to one target (or class).
struct TreeVote {
  int32_t target;
  double weight;
};

struct TreeEnsemble {
  std::vector<TreeNode> nodes;
  std::vector<int32_t> roots;
  std::vector<TreeVote> votes;
  std::vector<double> members;
  int32_t features = 0;  // the largest feature read, plus one
  // Every inner node asks x <= threshold and sends NaN to the false branch, as most trainers
  // write it.
  bool only_less_or_equal = false;

  // Calls fn(row, votes) for each of `rows` rows, `stride` elements apart and of at least
  // `features` elements, and each tree: for one row in the order of the trees. Blocks of rows go
  // through a tree together while it is in the cache.
  template <typename T, typename Fn>
  void ForEachLeaf(const T* x, int64_t rows, int64_t stride, Fn fn) const;
  // The leaf a row of `features` elements ends in.
  template <typename T>
  const TreeNode& Leaf(int32_t root, const T* row) const;
  // The same where only_less_or_equal.
  template <typename T>
  const TreeNode& LeafOfComparisons(int32_t root, const T* row) const;
  absl::Span<const TreeVote> Votes(const TreeNode& leaf) const {
    return absl::MakeConstSpan(votes).subspan(leaf.first, leaf.last - leaf.first);
  }
};

// Finds the roots, unless they are given, and checks that no path runs in a circle, so that every
// walk ends. INVALID_ARGUMENT otherwise. Linear in the number of nodes.
absl::Status FinishTrees(TreeEnsemble* ensemble);

// From the nodes_* attributes of TreeEnsembleClassifier and TreeEnsembleRegressor and the votes in
// <prefix>_treeids, _nodeids, _ids and _weights ("class" or "target"); those with a counterpart
// *_as_tensor may have it instead. Targets must lie in [0, targets). Linear in the model's size.
absl::StatusOr<TreeEnsemble> ReadTreeEnsemble(const Attributes& attributes,
                                              const std::string& prefix, int64_t targets);

// A list of numbers given as floats in `name` or as a tensor of floats or doubles in
// `name`_as_tensor; empty where neither is there.
absl::StatusOr<std::vector<double>> ReadNumbers(const Attributes& attributes,
                                                const std::string& name);

template <typename T>
const TreeNode& TreeEnsemble::Leaf(int32_t root, const T* row) const {
  const TreeNode* node = &nodes[root];
  while (node->branch != TreeBranch::kLeaf) {
    const double x = static_cast<double>(row[node->feature]);
    bool taken = false;
    switch (node->branch) {
      case TreeBranch::kLessOrEqual:
        taken = x <= node->threshold;
        break;
      case TreeBranch::kLess:
        taken = x < node->threshold;
        break;
      case TreeBranch::kGreaterOrEqual:
        taken = x >= node->threshold;
        break;
      case TreeBranch::kGreater:
        taken = x > node->threshold;
        break;
      case TreeBranch::kEqual:
        taken = x == node->threshold;
        break;
      case TreeBranch::kNotEqual:
        taken = x != node->threshold;
        break;
      case TreeBranch::kMember:
        for (int32_t i = node->first; i < node->last && !taken; ++i) taken = x == members[i];
        break;
      case TreeBranch::kLeaf:
        break;
    }
    taken = taken || (node->missing_tracks_true && std::isnan(x));
    node = &nodes[taken ? node->if_true : node->if_false];
  }
  return *node;
}

template <typename T>
const TreeNode& TreeEnsemble::LeafOfComparisons(int32_t root, const T* row) const {
  const TreeNode* node = &nodes[root];
  while (node->branch != TreeBranch::kLeaf) {
    const double x = static_cast<double>(row[node->feature]);
    node = &nodes[x <= node->threshold ? node->if_true : node->if_false];
  }
  return *node;
}

template <typename T, typename Fn>
void TreeEnsemble::ForEachLeaf(const T* x, int64_t rows, int64_t stride, Fn fn) const {
  constexpr int64_t kBlock = 64;
  for (int64_t first = 0; first < rows; first += kBlock) {
    const int64_t last = std::min(rows, first + kBlock);
    for (const int32_t root : roots) {
      if (only_less_or_equal) {
        for (int64_t r = first; r < last; ++r) {
          fn(r, Votes(LeafOfComparisons(root, x + r * stride)));
        }
      } else {
        for (int64_t r = first; r < last; ++r) fn(r, Votes(Leaf(root, x + r * stride)));
      }
    }
  }
}

}  // namespace inferd::engine
