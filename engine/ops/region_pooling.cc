#include "engine/ops/region_pooling.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {

absl::Status CheckPooledSize(absl::string_view attribute, int64_t size) {
  if (size >= 1 && size <= (int64_t{1} << 20)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("attribute ", std::string(attribute), " holds ",
                                                 size, ", expected a value in [1, 2^20]"));
}

absl::StatusOr<SymbolicShape> RegionPoolingShape(const InferenceContext& context, int64_t columns,
                                                 int64_t height, int64_t width) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 4, 4));
  RETURN_IF_ERROR(ExpectRank(context, 1, 2, 2));
  SymbolicShape y({Dim::Unknown(), Dim::Unknown(), Dim(height), Dim(width)});
  if (context.shape(0).has_rank()) y[1] = context.shape(0)[1];
  if (const SymbolicShape& rois = context.shape(1); rois.has_rank()) {
    if (rois[1].known() && rois[1].value() != columns) {
      return absl::InvalidArgumentError(absl::StrCat("input rois has shape ", rois.ToString(),
                                                     ", expected ", columns, " columns"));
    }
    y[0] = rois[0];
  }
  return y;
}

absl::Status CheckHasPixels(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  if (x[2] * x[3] > 0 || spec.output(0).shape.NumElements() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input X has shape ", x.ToString(), ": no pixels to pool"));
}

}  // namespace inferd::engine
