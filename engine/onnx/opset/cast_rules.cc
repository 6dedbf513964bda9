#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The target type was written as its name: "FLOAT".
absl::Status CastTypeName(NodeAdapter& node) {
  const std::optional<std::string> name = node.TakeAttribute<std::string>("to");
  if (!name.has_value()) return absl::OkStatus();
  const std::optional<ElementType> type = ElementTypeFromName(absl::AsciiStrToLower(*name));
  if (!type.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("attribute \"to\" names no type: ", *name));
  }
  node.attributes.Set("to", static_cast<int64_t>(*type));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "Cast", 1, CastTypeName},
    {"", "Cast", 6, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> CastRules() { return kRules; }

}  // namespace inferd::engine
