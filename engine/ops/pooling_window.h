// What the reference pooling kernels share: their loops and how they are made.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/ops/pooling_shape.h"
#include "engine/ops/sliding_window.h"
#include "engine/status_macros.h"

namespace inferd::engine {

// One window of a plane of [depth, height, width].
struct PoolingWindow {
  int64_t output;                    // index of the output position in its plane
  std::array<int64_t, 3> position;   // the output position
  std::array<IndexRange, 3> inside;  // taps inside the input, by axis
};

// Calls fn(window) for every output position in row-major order.
template <typename Fn>
void ForEachWindow(const std::array<WindowAxis, 3>& axes, Fn fn) {
  PoolingWindow w{};
  for (int64_t d = 0; d < axes[0].output; ++d) {
    w.inside[0] = TapsInside(axes[0], d);
    for (int64_t h = 0; h < axes[1].output; ++h) {
      w.inside[1] = TapsInside(axes[1], h);
      for (int64_t c = 0; c < axes[2].output; ++c) {
        w.inside[2] = TapsInside(axes[2], c);
        w.position = {d, h, c};
        fn(w);
        ++w.output;
      }
    }
  }
}

// Calls fn(d, h, w) with the input position of every tap inside the input, in row-major order.
template <typename Fn>
void ForEachTap(const std::array<WindowAxis, 3>& axes, const PoolingWindow& window, Fn fn) {
  const auto& [depth, height, width] = axes;
  const auto& [d_taps, h_taps, w_taps] = window.inside;
  for (int64_t kd = d_taps.begin; kd < d_taps.end; ++kd) {
    const int64_t d = depth.start(window.position[0]) + kd * depth.dilation;
    for (int64_t kh = h_taps.begin; kh < h_taps.end; ++kh) {
      const int64_t h = height.start(window.position[1]) + kh * height.dilation;
      for (int64_t kw = w_taps.begin; kw < w_taps.end; ++kw) {
        fn(d, h, width.start(window.position[2]) + kw * width.dilation);
      }
    }
  }
}

// Makes the kernel for a resolved shape.
using MakePooling = absl::StatusOr<std::unique_ptr<Kernel>> (*)(const NodeSpec& spec,
                                                                const PoolingShape& shape);

// The reference of a pooling operator, and that of its Global form.
template <MakePooling kMake>
absl::StatusOr<std::unique_ptr<Kernel>> PoolingReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const PoolingShape shape,
                   ResolvePooling(spec.attributes(), spec.input(0).shape));
  return kMake(spec, shape);
}
template <MakePooling kMake>
absl::StatusOr<std::unique_ptr<Kernel>> GlobalPoolingReference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const PoolingShape shape, ResolveGlobalPooling(spec.input(0).shape));
  return kMake(spec, shape);
}

}  // namespace inferd::engine
