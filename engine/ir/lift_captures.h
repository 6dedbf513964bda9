// Values a body takes from the graph around it become inputs like any other.
//
// ONNX lets the graph of an If, Loop or Scan name values of the enclosing graphs. After import no
// graph does: a node with bodies has each captured value as an input behind its own, and each body
// has one input per captured value, in the same order, behind its formal ones. So liveness, order,
// common subexpressions and planning need to know nothing of captures.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "engine/ir/attribute.h"
#include "engine/ir/graph.h"

namespace inferd::engine {

struct OpDef;  // engine/ops/op_def.h

// The attribute of a node with bodies that counts the inputs which are captures; absent means 0.
inline constexpr absl::string_view kCapturesAttribute = "captures";

// For a node of operator `op` about to be made: see above. Bodies have no captures afterwards;
// those that are given must not be in use elsewhere.
void LiftCaptures(const OpDef& op, std::vector<Value*>& inputs, Attributes& attributes);

// Name of the formal parameter that stands for captures alone. A model must give it no operands.
inline constexpr absl::string_view kCapturedParameter = "captured";

}  // namespace inferd::engine
