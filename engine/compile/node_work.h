// How much work a node is: the operations and bytes that no kernel for it can do without.
#pragma once

#include "engine/kernel/kernel.h"
#include "engine/runtime/model.h"

namespace inferd::engine {

// Multiplications and additions count one each, also of integers and also where a kernel finds a
// shorter way (Winograd); a transcendental function counts as one. Bytes are those of every
// operand once, in plain layout; of tables only what is looked up. Operations are unknown for
// operators without a formula, and everything is where a shape is known only once the node ran.
NodeWork WorkOf(const NodeSpec& spec);

}  // namespace inferd::engine
