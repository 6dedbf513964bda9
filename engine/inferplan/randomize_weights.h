// Random weights, for benchmarks of models whose files hold constant ones.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/ir/graph.h"

namespace inferd::engine {

// Replaces floating-point weights, results of ConstantOfShape included, by seeded random numbers;
// returns how many. Matrices and filters are uniform with variance 1 / fan-in (He et al., 2015,
// up to a constant), so that activations neither vanish nor overflow; vectors are uniform in
// [0.5, 1.5), which suits scales, variances and biases alike. Constants of fewer than 16 elements
// are left alone unless they feed a convolution, matrix product or normalization: they may be
// scales, limits or exponents.
absl::StatusOr<int> RandomizeWeights(Graph& graph, uint64_t seed);

}  // namespace inferd::engine
