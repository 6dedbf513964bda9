// MaxPool and GlobalMaxPool: the largest element of each window, and where it was.
#include <array>
#include <cmath>
#include <limits>
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

// What a window that lies in the padding alone yields.
template <typename T>
constexpr T Lowest() {
  if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

template <typename T>
class MaxPoolKernel final : public Kernel {
 public:
  MaxPoolKernel(int64_t planes, const std::array<WindowAxis, 3>& axes, bool column_major)
      : planes_(planes), axes_(axes), column_major_(column_major) {}

  absl::Status Run(KernelContext& context) const override {
    const int64_t x_plane = axes_[0].input * axes_[1].input * axes_[2].input;
    const int64_t y_plane = axes_[0].output * axes_[1].output * axes_[2].output;
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    int64_t* indices = context.has_output(1) ? context.output(1).as<int64_t>() : nullptr;
    context.threads().ParallelFor(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        Plane(x + p * x_plane, p * x_plane, y + p * y_plane,
              indices == nullptr ? nullptr : indices + p * y_plane);
      }
    });
    return absl::OkStatus();
  }

 private:
  // `first` is the index of x in the whole input.
  void Plane(const T* x, int64_t first, T* y, int64_t* indices) const {
    const auto& [depth, height, width] = axes_;
    ForEachWindow(axes_, [&](const PoolingWindow& window) {
      using Compute = ComputeType<T>;
      Compute best = Lowest<Compute>();
      int64_t where = -1;
      ForEachTap(axes_, window, [&](int64_t d, int64_t h, int64_t w) {
        const Compute v = x[(d * height.input + h) * width.input + w];
        // A NaN wins over numbers and stays.
        const bool better = v > best || (v != v && best == best);
        if (where >= 0 && !better) return;
        best = v;
        where = column_major_ ? d + depth.input * (h + height.input * w)
                              : (d * height.input + h) * width.input + w;
      });
      y[window.output] = static_cast<T>(best);
      if (indices != nullptr) indices[window.output] = where < 0 ? -1 : first + where;
    });
  }

  int64_t planes_;
  std::array<WindowAxis, 3> axes_;
  bool column_major_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeMaxPool(const NodeSpec& spec,
                                                    const PoolingShape& shape) {
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, shape.OutputShape()));
  ASSIGN_OR_RETURN(const auto axes, AsThreeAxes(shape.axes));
  const bool column_major = spec.attributes().GetInt("storage_order", 0) != 0;
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16, int8_t, uint8_t>(
      spec.input(0).type, [&]<typename T>() {
        kernel =
            std::make_unique<MaxPoolKernel<T>>(shape.batch * shape.channels, axes, column_major);
      });
  return kernel;
}

}  // namespace

void RegisterMaxPoolOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes =
      type_sets::kFloats | ElementTypeSet{ElementType::kInt8, ElementType::kUint8};
  registry.Register(
      {.name = "MaxPool",
       .version = 22,
       .inputs = {{"X", "T", kTypes}},
       .outputs = {{"Y", "T", kTypes},
                   {"Indices", "", {ElementType::kInt64}, FormalParameter::Option::kOptional}},
       .attributes = {{"auto_pad", Kind::kString},
                      {"ceil_mode", Kind::kInt},
                      {"dilations", Kind::kInts},
                      {"kernel_shape", Kind::kInts, /*required=*/true},
                      {"pads", Kind::kInts},
                      {"storage_order", Kind::kInt},
                      {"strides", Kind::kInts}},
       .infer = InferPooling,
       .reference = PoolingReference<MakeMaxPool>});
  registry.Register({.name = "GlobalMaxPool",
                     .version = 22,
                     .inputs = {{"X", "T", type_sets::kFloats}},
                     .outputs = {{"Y", "T", type_sets::kFloats}},
                     .infer = InferGlobalPooling,
                     .reference = GlobalPoolingReference<MakeMaxPool>});
}

}  // namespace inferd::engine
