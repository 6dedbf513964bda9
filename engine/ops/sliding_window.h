// Windows that slide over spatial axes: what convolution and pooling have in common.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/ir/attribute.h"
#include "engine/ir/value_type.h"

namespace inferd::engine {

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

// INVALID_ARGUMENT for a spelling the standard does not have.
absl::StatusOr<AutoPad> ReadAutoPad(const Attributes& attributes);

// One spatial axis of a window, everything concrete. Output position o reads input positions
// o * stride - pad_begin + k * dilation for k in [0, kernel); those outside [0, input) are padding.
struct WindowAxis {
  int64_t input = 0;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t output = 0;

  // Input positions from the first tap to the last.
  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  // Input position of tap 0 of output position o.
  int64_t start(int64_t o) const { return o * stride - pad_begin; }
};

// Half-open range of output positions or taps.
struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool empty() const { return begin >= end; }
};

// Taps of the window at output position o that lie inside the input.
IndexRange TapsInside(const WindowAxis& axis, int64_t o);
// Output positions at which tap k reads one of the input positions `inputs`, a part of
// [0, axis.input).
IndexRange OutputsReading(const WindowAxis& axis, int64_t k, IndexRange inputs);
// Output positions at which tap k lies inside the input.
inline IndexRange OutputsInside(const WindowAxis& axis, int64_t k) {
  return OutputsReading(axis, k, {0, axis.input});
}

// One to three spatial axes as exactly three, [depth, height, width]; absent ones have size 1.
// UNIMPLEMENTED for more than three.
absl::StatusOr<std::array<WindowAxis, 3>> AsThreeAxes(absl::Span<const WindowAxis> axes);

// The attributes strides, dilations, pads, auto_pad and ceil_mode, checked and filled with their
// defaults: one element per spatial axis, pads first all begins, then all ends.
struct WindowAttributes {
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;
  // One window that is cut off where the padded input is smaller, by less than a stride.
  bool partial_window = false;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  std::vector<int64_t> pads;
};

// INVALID_ARGUMENT for counts that do not fit `spatial_rank`, values below 1 (strides,
// dilations), negative pads, and values too large to compute with.
absl::StatusOr<WindowAttributes> ReadWindowAttributes(const Attributes& attributes,
                                                      int spatial_rank);
// "kernel_shape" against the same limits.
absl::Status CheckKernelShape(absl::Span<const int64_t> kernel, int spatial_rank);

// The output size of one axis and, for SAME, its pads, by the formulas of the standard's
// AveragePool (with ceil_mode, windows that would start in the end padding are dropped).
// INVALID_ARGUMENT when the window does not fit into the padded input and none may be partial.
absl::StatusOr<WindowAxis> ResolveWindowAxis(const WindowAttributes& attributes, int axis,
                                             int64_t input, int64_t kernel);

// The output dimension where the input's may be unknown: a window that keeps the size (SAME with
// stride 1, 3x3 with pads of 1) keeps the symbol too.
absl::StatusOr<Dim> WindowOutputDim(const WindowAttributes& attributes, int axis, const Dim& input,
                                    const Dim& kernel);

}  // namespace inferd::engine
