// What a kernel derives from its node's attributes alone, such as a forest from its lists of
// nodes: made once, shared by every plan of the model.
#pragma once

#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/packed_weights.h"

namespace inferd::engine {

// The result of `parse` on the attributes of the spec's node. One T for one operator.
template <typename T>
absl::StatusOr<std::shared_ptr<const T>> ParseAttributesOnce(
    const NodeSpec& spec, absl::FunctionRef<absl::StatusOr<T>(const Attributes&)> parse) {
  const auto make = [&]() -> absl::StatusOr<std::shared_ptr<const void>> {
    absl::StatusOr<T> parsed = parse(spec.attributes());
    if (!parsed.ok()) return parsed.status();
    return std::make_shared<const T>(*std::move(parsed));
  };
  absl::StatusOr<std::shared_ptr<const void>> shared;
  if (spec.packed_weights == nullptr) {
    shared = make();
  } else {
    // The name as well: should the node be gone one day, the next one at its address has another.
    shared = spec.packed_weights->GetOrMake(
        absl::StrCat(reinterpret_cast<uintptr_t>(spec.node), "/", spec.node->display_name()), make);
  }
  if (!shared.ok()) return shared.status();
  return std::static_pointer_cast<const T>(*std::move(shared));
}

}  // namespace inferd::engine
