// What RoiAlign and MaxRoiPool share: X is [N,C,H,W], rois [regions, columns], Y
// [regions, C, pooled height, pooled width].
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ir/value_type.h"

namespace inferd::engine {

class InferenceContext;
struct NodeSpec;

// INVALID_ARGUMENT naming the attribute for an output size outside [1, 2^20].
absl::Status CheckPooledSize(absl::string_view attribute, int64_t size);
// The shape of Y; unknown dimensions flow through.
absl::StatusOr<SymbolicShape> RegionPoolingShape(const InferenceContext& context, int64_t columns,
                                                 int64_t height, int64_t width);
// INVALID_ARGUMENT where Y has elements and X no pixels.
absl::Status CheckHasPixels(const NodeSpec& spec);

}  // namespace inferd::engine
