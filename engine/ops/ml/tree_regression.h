// Regression by trees: how leaves' votes become one prediction per target, and the kernel of the
// operators that do it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "engine/ops/ml/post_transform.h"
#include "engine/ops/ml/tree_ensemble.h"

namespace inferd::engine {

class Kernel;
struct NodeSpec;

enum class TreeAggregate : uint8_t { kSum, kAverage, kMin, kMax };

struct TreeRegression {
  TreeEnsemble trees;
  int64_t targets = 1;
  TreeAggregate aggregate = TreeAggregate::kSum;
  PostTransform transform = PostTransform::kNone;
  std::vector<double> base_values;  // one per target, or none
};

// The attribute n_targets or its default, 1.
absl::StatusOr<int64_t> ReadNumTargets(const Attributes& attributes);

// Rows of input 0 to rows of output 0, of any of the types the tree operators have. `parse` reads
// the trees from the node's attributes, once for all plans.
absl::StatusOr<std::unique_ptr<Kernel>> MakeTreeRegression(
    const NodeSpec& spec,
    absl::FunctionRef<absl::StatusOr<TreeRegression>(const Attributes&)> parse);

}  // namespace inferd::engine
