#include "engine/ops/control_flow/bodies.h"

#include <memory>

#include "absl/strings/str_cat.h"

namespace inferd::engine {

absl::StatusOr<const Graph*> BodyOf(const Node& node, absl::string_view attribute) {
  const auto* body = node.attributes().Get<std::shared_ptr<Graph>>(attribute);
  if (body == nullptr || *body == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("it has no graph '", attribute, "'"));
  }
  return body->get();
}

absl::Status ExpectBodyInputs(const Graph& body, absl::string_view attribute, int expected) {
  const int found = static_cast<int>(body.inputs().size());
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("graph '", attribute, "' has ", found,
                                                 " inputs, expected ", expected,
                                                 " (captured values included)"));
}

absl::Status ExpectBodyOutputs(const Graph& body, absl::string_view attribute, int expected) {
  const int found = static_cast<int>(body.outputs().size());
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("graph '", attribute, "' has ", found, " outputs, expected ", expected));
}

absl::StatusOr<bool> ReadCondition(const TensorView& view, absl::string_view what) {
  if (view.type != ElementType::kBool || view.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(what, " is ", ElementTypeName(view.type),
                                                   view.shape.ToString(),
                                                   ", expected bool with one element"));
  }
  return *view.as<bool>();
}

}  // namespace inferd::engine
