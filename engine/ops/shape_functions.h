// Building blocks of shape functions, and the shape functions many operators share.
//
// All of them let unknown ranks and dimensions through and never fail on them; they fail only on
// what is known to be wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// One dimension of a NumPy broadcast. A number above 1 beats everything, 1 gives way to the other
// side, equal symbols stay, and anything else is unknown. INVALID_ARGUMENT for two different
// numbers neither of which is 1.
absl::StatusOr<Dim> BroadcastDims(const Dim& a, const Dim& b);
// Unknown rank on either side gives unknown rank.
absl::StatusOr<SymbolicShape> BroadcastSymbolicShapes(const SymbolicShape& a,
                                                      const SymbolicShape& b);
// What is known of a dimension that both `a` and `b` describe; INVALID_ARGUMENT where they differ.
absl::StatusOr<Dim> MergeDims(const Dim& a, const Dim& b);

// INVALID_ARGUMENT naming the input, unless its rank is unknown or in [min_rank, max_rank].
absl::Status ExpectRank(const InferenceContext& context, int input, int min_rank,
                        int max_rank = 1 << 20);
// As ExpectRank(0), and known dimensions must hold one element in all: a scalar operand.
absl::Status ExpectScalar(const InferenceContext& context, int input);
// The axis attribute or its default, in [0, rank) of input 0, whose rank must be known.
absl::StatusOr<int> AxisAttribute(const InferenceContext& context, int64_t default_value,
                                  const char* name = "axis");
// Input `input` as int64 values where it is constant; nullopt where it is absent or not known.
absl::StatusOr<std::optional<std::vector<int64_t>>> ConstantInts(const InferenceContext& context,
                                                                 int input);
// A shape from values: INVALID_ARGUMENT for negative dimensions or a count beyond int64.
absl::StatusOr<SymbolicShape> ShapeFromValues(const std::vector<int64_t>& dims);

// Shape functions.
// Output 0 has the type and shape of input 0.
absl::Status InferSameAsInput(InferenceContext& context);
// Output 0: the broadcast of all inputs, with the element type of input 0 or of bool.
absl::Status InferBroadcast(InferenceContext& context);
absl::Status InferBroadcastToBool(InferenceContext& context);
// Output 0 has the shape of input 0 and holds bool.
absl::Status InferSameShapeBool(InferenceContext& context);

}  // namespace inferd::engine
