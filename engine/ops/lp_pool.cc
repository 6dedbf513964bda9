// LpPool and GlobalLpPool: the p-norm of each window.
#include <array>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/pooling_shape.h"
#include "engine/ops/pooling_window.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

double Power(double v, int64_t p) {
  v = std::abs(v);
  if (p == 1) return v;
  if (p == 2) return v * v;
  return std::pow(v, static_cast<double>(p));
}

template <typename T>
std::unique_ptr<Kernel> MakeLp(int64_t planes, const std::array<WindowAxis, 3>& axes, int64_t p) {
  return MakeKernel([=](KernelContext& context) {
    const auto& [depth, height, width] = axes;
    const int64_t x_plane = depth.input * height.input * width.input;
    const int64_t y_plane = depth.output * height.output * width.output;
    context.threads().ParallelFor(planes, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const T* x = context.input(0).as<T>() + plane * x_plane;
        T* y = context.output(0).as<T>() + plane * y_plane;
        ForEachWindow(axes, [&](const PoolingWindow& window) {
          double sum = 0;
          ForEachTap(axes, window, [&](int64_t d, int64_t h, int64_t w) {
            sum += Power(
                static_cast<ComputeType<T>>(x[(d * axes[1].input + h) * axes[2].input + w]), p);
          });
          const double norm = p == 1 ? sum : std::pow(sum, 1.0 / static_cast<double>(p));
          y[window.output] = static_cast<T>(static_cast<ComputeType<T>>(norm));
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
  const int64_t p = spec.attributes().GetInt("p", 2);
  if (p < 1) {
    return absl::InvalidArgumentError(absl::StrCat("attribute p is ", p, ", expected at least 1"));
  }
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    kernel = MakeLp<T>(shape.batch * shape.channels, axes, p);
  });
  return kernel;
}

}  // namespace

void RegisterLpPoolOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "LpPool",
                     .version = 22,
                     .inputs = {{"X", "T", type_sets::kFloats}},
                     .outputs = {{"Y", "T", type_sets::kFloats}},
                     .attributes = {{"auto_pad", Kind::kString},
                                    {"ceil_mode", Kind::kInt},
                                    {"dilations", Kind::kInts},
                                    {"kernel_shape", Kind::kInts, /*required=*/true},
                                    {"p", Kind::kInt},
                                    {"pads", Kind::kInts},
                                    {"strides", Kind::kInts}},
                     .infer = InferPooling,
                     .reference = PoolingReference<MakeReference>});
  registry.Register({.name = "GlobalLpPool",
                     .version = 22,
                     .inputs = {{"X", "T", type_sets::kFloats}},
                     .outputs = {{"Y", "T", type_sets::kFloats}},
                     .attributes = {{"p", Kind::kInt}},
                     .infer = InferGlobalPooling,
                     .reference = GlobalPoolingReference<MakeReference>});
}

}  // namespace inferd::engine
