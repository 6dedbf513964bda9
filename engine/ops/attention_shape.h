// Shapes of attention operands as far as they are known, and how the dimensions depend on each
// other.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// Sum and product of dimensions; unknown where one is. INVALID_ARGUMENT beyond int64.
absl::StatusOr<Dim> AddDims(const Dim& a, const Dim& b);
absl::StatusOr<Dim> MultiplyDims(const Dim& a, const Dim& b);
// One of `parts` equal parts of a dimension; INVALID_ARGUMENT naming `what` where it does not
// divide.
absl::StatusOr<Dim> DivideDim(const Dim& dim, int64_t parts, absl::string_view what);

// Dimension `d` of input `i`; unknown where the input or its rank is.
Dim InputDim(const InferenceContext& context, int i, int d);
// Narrows `dim` by dimension `d` of input `i`; INVALID_ARGUMENT naming both where they differ.
absl::Status MergeInputDim(const InferenceContext& context, int i, int d, absl::string_view what,
                           Dim& dim);

// The attribute as a count of heads; INVALID_ARGUMENT where absent or not in [1, 2^31).
absl::StatusOr<int64_t> HeadCountAttribute(const Attributes& attributes, absl::string_view name);

// INVALID_ARGUMENT naming input `i` where a known dimension of it broadcasts not to the same
// dimension of `target`, aligned at the last.
absl::Status ExpectBroadcastable(const InferenceContext& context, int i,
                                 const std::vector<Dim>& target);

}  // namespace inferd::engine
