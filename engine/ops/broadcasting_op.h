// Schemas of elementwise operators that broadcast their operands.
#pragma once

#include <utility>
#include <vector>

#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"

namespace inferd::engine {

// An elementwise operator whose operands of one type broadcast to its output of that type. Either
// of the first two operands may lend its buffer to the output.
inline OpDef BroadcastingOp(const char* name, int version, std::vector<FormalParameter> inputs,
                            FormalParameter output, ReferenceFn reference) {
  OpDef def;
  def.name = name;
  def.version = version;
  def.inputs = std::move(inputs);
  def.outputs = {std::move(output)};
  def.infer = InferBroadcast;
  def.reference = reference;
  def.in_place_inputs = {0, 1};
  def.is_elementwise = true;
  return def;
}
inline OpDef BinaryOp(const char* name, int version, ElementTypeSet types, ReferenceFn reference) {
  return BroadcastingOp(name, version,
                        {RequiredParameter("A", "T", types), RequiredParameter("B", "T", types)},
                        RequiredParameter("C", "T", types), reference);
}

}  // namespace inferd::engine
