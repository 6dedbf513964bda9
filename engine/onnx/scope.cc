#include "engine/onnx/scope.h"

namespace inferd::engine {

bool Scope::Find(absl::string_view name, Value** value) {
  if (auto it = names_.find(name); it != names_.end()) {
    *value = it->second;
    return true;
  }
  Value* outside = nullptr;
  if (outer_ == nullptr || !outer_->Find(name, &outside)) return false;
  Value* here = nullptr;
  if (outside != nullptr) {
    // A constant is cheaper to share than to capture, and inference sees its value.
    here = outside->is_constant() ? graph_.AddConstant(outside->name(), outside->constant())
                                  : graph_.AddCaptured(outside);
  }
  Bind(name, here);
  *value = here;
  return true;
}

}  // namespace inferd::engine
