// LpPool, GlobalLpPool and RoiAlign. MaxPool and AveragePool only ever gained attributes whose
// defaults keep the old meaning.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/onnx/opset/node_adapter.h"
#include "engine/onnx/opset/rules.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The order of the norm was a float.
absl::Status NormOrderToInt(NodeAdapter& node) {
  const std::optional<float> p = node.TakeAttribute<float>("p");
  if (!p.has_value()) return absl::OkStatus();
  if (*p != std::floor(*p) || *p < 1 || *p > 1e6f) {
    return absl::UnimplementedError(absl::StrCat("p = ", *p, " is not a positive integer"));
  }
  node.attributes.Set("p", static_cast<int64_t>(*p));
  return absl::OkStatus();
}

absl::Status RoiAlignWholePixels(NodeAdapter& node) {
  node.attributes.Set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return absl::OkStatus();
}

constexpr OpsetRule kRules[] = {
    {"", "LpPool", 1, NormOrderToInt},         {"", "LpPool", 2, nullptr},
    {"", "GlobalLpPool", 1, NormOrderToInt},   {"", "GlobalLpPool", 2, nullptr},
    {"", "RoiAlign", 10, RoiAlignWholePixels}, {"", "RoiAlign", 16, nullptr},
};

}  // namespace

absl::Span<const OpsetRule> PoolRules() { return kRules; }

}  // namespace inferd::engine
