// What operators with bodies (If, Loop, Scan, SequenceMap) share.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ir/graph.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// Inputs of the node that its bodies captured; see engine/ir/lift_captures.h.
inline int NumCaptures(const Node& node, int max) {
  const int64_t count = node.attributes().GetInt("captures", 0);
  return count < 0 ? 0 : count > max ? max : static_cast<int>(count);
}

// The graph in an attribute; INVALID_ARGUMENT where there is none.
absl::StatusOr<const Graph*> BodyOf(const Node& node, absl::string_view attribute);

// INVALID_ARGUMENT naming the body, what it has and what it should have.
absl::Status ExpectBodyInputs(const Graph& body, absl::string_view attribute, int expected);
absl::Status ExpectBodyOutputs(const Graph& body, absl::string_view attribute, int expected);

// The attribute every operator with bodies has.
inline constexpr AttributeSpec kCapturesSpec = {"captures", AttributeSpec::Kind::kInt};

// True where the one element of a bool tensor is true; INVALID_ARGUMENT where `view` is not that.
absl::StatusOr<bool> ReadCondition(const TensorView& view, absl::string_view what);

}  // namespace inferd::engine
