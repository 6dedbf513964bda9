#include "engine/ir/lift_captures.h"

#include <algorithm>
#include <memory>
#include <string>

#include "engine/ops/op_def.h"

namespace inferd::engine {

void LiftCaptures(const OpDef& op, std::vector<Value*>& inputs, Attributes& attributes) {
  std::vector<Graph*> bodies;
  for (const auto& [name, attribute] : attributes) {
    if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute)) {
      bodies.push_back(body->get());
    }
    if (const auto* several = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute)) {
      for (const auto& body : *several) bodies.push_back(body.get());
    }
  }
  std::vector<Value*> captured;
  for (const Graph* body : bodies) {
    for (const Value* value : body->captures()) {
      if (std::find(captured.begin(), captured.end(), value->captured()) == captured.end()) {
        captured.push_back(value->captured());
      }
    }
  }
  if (captured.empty()) return;
  for (Graph* body : bodies) {
    for (Value* outer : captured) body->MakeCaptureInput(outer);
  }
  // Captures stand behind every formal input, given or not.
  const auto formal = static_cast<size_t>(std::count_if(
      op.inputs.begin(), op.inputs.end(),
      [](const FormalParameter& parameter) { return !IsVariadic(parameter.option); }));
  inputs.resize(std::max(inputs.size(), formal), nullptr);
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  attributes.Set(std::string(kCapturesAttribute), static_cast<int64_t>(captured.size()));
}

}  // namespace inferd::engine
