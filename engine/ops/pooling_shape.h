// Geometry of the pooling operators, for shape inference, the reference kernels and every
// provider's candidates.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/ir/attribute.h"
#include "engine/ops/sliding_window.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

class InferenceContext;

// X is [batch, channels, axes[i].input...], Y is [batch, channels, axes[i].output...]. With
// ceil_mode the last window may reach beyond the end padding. auto_pad is resolved into pads.
struct PoolingShape {
  int64_t batch = 0;
  int64_t channels = 0;
  absl::InlinedVector<WindowAxis, 3> axes;

  int spatial_rank() const { return static_cast<int>(axes.size()); }
  Shape OutputShape() const;
};

// From the attributes of MaxPool, AveragePool or LpPool and the concrete shape of X.
// INVALID_ARGUMENT says which attribute does not fit.
absl::StatusOr<PoolingShape> ResolvePooling(const Attributes& attributes, const Shape& x);
// One window over each whole spatial plane: the Global* operators.
absl::StatusOr<PoolingShape> ResolveGlobalPooling(const Shape& x);

// Element type and shape of Y; and of Indices (int64) when the node has output 1.
absl::Status InferPooling(InferenceContext& context);
absl::Status InferGlobalPooling(InferenceContext& context);

// Elements AveragePool divides by on one axis at output position o when count_include_pad is
// set: taps inside the input or its pads, but not beyond (where ceil_mode lets a window reach).
int64_t TapsInsidePadded(const WindowAxis& axis, int64_t o);

}  // namespace inferd::engine
