// AveragePool and GlobalAveragePool: the mean of each window.
#include <algorithm>
#include <array>
#include <memory>

#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/pooling_shape.h"
#include "engine/ops/pooling_window.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// What the sum of a window is divided by.
int64_t Divisor(const std::array<WindowAxis, 3>& axes, const PoolingWindow& window,
                bool count_include_pad) {
  int64_t count = 1;
  for (int i = 0; i < 3; ++i) {
    const IndexRange& inside = window.inside[i];
    count *= count_include_pad ? TapsInsidePadded(axes[i], window.position[i])
                               : std::max<int64_t>(0, inside.end - inside.begin);
  }
  return count;
}

template <typename T>
std::unique_ptr<Kernel> MakeAverage(int64_t planes, const std::array<WindowAxis, 3>& axes,
                                    bool count_include_pad) {
  return MakeKernel([=](KernelContext& context) {
    const auto& [depth, height, width] = axes;
    const int64_t x_plane = depth.input * height.input * width.input;
    const int64_t y_plane = depth.output * height.output * width.output;
    context.threads().ParallelFor(planes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* x = context.input(0).as<T>() + p * x_plane;
        T* y = context.output(0).as<T>() + p * y_plane;
        ForEachWindow(axes, [&](const PoolingWindow& window) {
          double sum = 0;
          ForEachTap(axes, window, [&](int64_t d, int64_t h, int64_t w) {
            sum += static_cast<ComputeType<T>>(x[(d * axes[1].input + h) * axes[2].input + w]);
          });
          const int64_t count = Divisor(axes, window, count_include_pad);
          // A window in the padding alone has no mean; its sum of nothing is 0.
          const double mean = count == 0 ? 0.0 : sum / static_cast<double>(count);
          y[window.output] = static_cast<T>(static_cast<ComputeType<T>>(mean));
        });
      }
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeReference(const NodeSpec& spec,
                                                      const PoolingShape& shape) {
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, shape.OutputShape()));
  ASSIGN_OR_RETURN(const auto axes, AsThreeAxes(shape.axes));
  const bool include = spec.attributes().GetInt("count_include_pad", 0) != 0;
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    kernel = MakeAverage<T>(shape.batch * shape.channels, axes, include);
  });
  return kernel;
}

}  // namespace

void RegisterAveragePoolOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "AveragePool",
                     .version = 22,
                     .inputs = {{"X", "T", type_sets::kFloats}},
                     .outputs = {{"Y", "T", type_sets::kFloats}},
                     .attributes = {{"auto_pad", Kind::kString},
                                    {"ceil_mode", Kind::kInt},
                                    {"count_include_pad", Kind::kInt},
                                    {"dilations", Kind::kInts},
                                    {"kernel_shape", Kind::kInts, /*required=*/true},
                                    {"pads", Kind::kInts},
                                    {"strides", Kind::kInts}},
                     .infer = InferPooling,
                     .reference = PoolingReference<MakeReference>});
  registry.Register({.name = "GlobalAveragePool",
                     .version = 22,
                     .inputs = {{"X", "T", type_sets::kFloats}},
                     .outputs = {{"Y", "T", type_sets::kFloats}},
                     .infer = InferGlobalPooling,
                     .reference = GlobalPoolingReference<MakeReference>});
}

}  // namespace inferd::engine
