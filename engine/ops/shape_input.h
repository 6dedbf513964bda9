// Inputs whose values shapes depend on (axes, pads, sizes), as shape functions and kernel
// factories read them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

class InferenceContext;
struct NodeSpec;

// How many elements input i has, where it is present and that is known.
std::optional<int64_t> KnownCount(const InferenceContext& context, int i);

// For variadic operators: INVALID_ARGUMENT unless there is an input and none is absent.
absl::Status ExpectAllInputs(const InferenceContext& context);

// The integers of input i of a node of a plan; empty where the input is absent. INTERNAL where it
// is not constant: the planner cuts plans at shape inputs so that it is.
absl::StatusOr<std::vector<int64_t>> PlannedInts(const NodeSpec& spec, int i);

// INTERNAL when the plan's shape of output i is not `expected`.
absl::Status CheckOutputShape(const NodeSpec& spec, int i, const Shape& expected);

// Axes in [-rank, rank) to [0, rank). INVALID_ARGUMENT for one out of range or given twice.
absl::StatusOr<std::vector<int>> NormalizeAxes(const std::vector<int64_t>& axes, int rank);

}  // namespace inferd::engine
