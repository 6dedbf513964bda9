// Where registrations are one line each: the opset in which an operator entered its domain.
#pragma once

#include "engine/ops/op_def.h"

namespace inferd::engine {

inline OpDef Since(int oldest_version, OpDef def) {
  def.oldest_version = oldest_version;
  return def;
}

}  // namespace inferd::engine
