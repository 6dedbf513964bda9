// com.microsoft QLinearAveragePool and QLinearGlobalAveragePool: means of quantized bytes.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/microsoft/quantized_bytes.h"
#include "engine/ops/op_def.h"
#include "engine/ops/pooling_shape.h"
#include "engine/ops/pooling_window.h"
#include "engine/ops/quantized_range.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input : int { kX, kXScale, kXZero, kYScale, kYZero };

bool ChannelsLast(const Attributes& attributes) {
  return attributes.GetInt("channels_last", 0) != 0;
}

// [N, spatial..., C] as [N, C, spatial...] and back.
Shape ChannelsSecond(const Shape& shape) {
  std::vector<int64_t> dims(shape.begin(), shape.end());
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return Shape(absl::MakeConstSpan(dims));
}
Shape ChannelsBackLast(const Shape& shape) {
  std::vector<int64_t> dims(shape.begin(), shape.end());
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return Shape(absl::MakeConstSpan(dims));
}

absl::StatusOr<PoolingShape> Resolve(const Attributes& attributes, const Shape& x, bool global) {
  if (x.rank() < 3) {
    return absl::InvalidArgumentError(absl::StrCat("input X has shape ", x.ToString(),
                                                   ", expected rank 3 or more: batch, channels "
                                                   "and spatial axes"));
  }
  const Shape first = ChannelsLast(attributes) ? ChannelsSecond(x) : x;
  return global ? ResolveGlobalPooling(first) : ResolvePooling(attributes, first);
}

Shape OutputShape(const Attributes& attributes, const PoolingShape& shape) {
  const Shape y = shape.OutputShape();
  return ChannelsLast(attributes) ? ChannelsBackLast(y) : y;
}

template <bool global>
absl::Status Infer(InferenceContext& context) {
  const SymbolicShape& x = context.shape(kX);
  if (!ChannelsLast(context.attributes())) {
    return global ? InferGlobalPooling(context) : InferPooling(context);
  }
  const std::optional<Shape> known = x.has_rank() ? x.concrete() : std::nullopt;
  if (known.has_value()) {
    ASSIGN_OR_RETURN(const PoolingShape shape, Resolve(context.attributes(), *known, global));
    context.SetOutput(0, context.element_type(kX), OutputShape(context.attributes(), shape));
  } else {
    context.SetOutput(0, context.element_type(kX),
                      x.has_rank() ? SymbolicShape::OfRank(x.rank()) : SymbolicShape());
  }
  return absl::OkStatus();
}

// Elements the sum of a window is divided by.
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
class PoolKernel final : public Kernel {
 public:
  PoolKernel(const PoolingShape& shape, const std::array<WindowAxis, 3>& axes,
             const Attributes& attributes, bool global)
      : axes_(axes),
        planes_(shape.batch * shape.channels),
        channels_(shape.channels),
        channels_last_(ChannelsLast(attributes)),
        count_include_pad_(attributes.GetInt("count_include_pad", 0) != 0),
        global_(global) {}

  absl::Status Run(KernelContext& context) const override {
    const ByteQuantization from = ReadQuantization(context, TypeOf<T>(), kXScale, kXZero);
    const ByteQuantization to = ReadQuantization(context, TypeOf<T>(), kYScale, kYZero);
    const int64_t x_plane = axes_[0].input * axes_[1].input * axes_[2].input;
    const int64_t y_plane = axes_[0].output * axes_[1].output * axes_[2].output;
    // Elements of a plane are `step` apart.
    const int64_t step = channels_last_ ? channels_ : 1;
    const auto plane_start = [&](int64_t p, int64_t plane) {
      return channels_last_ ? p / channels_ * channels_ * plane + p % channels_ : p * plane;
    };
    context.threads().ParallelFor(planes_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* x = context.input(kX).as<T>() + plane_start(p, x_plane);
        T* y = context.output(0).as<T>() + plane_start(p, y_plane);
        ForEachWindow(axes_, [&](const PoolingWindow& window) {
          const auto at = [&](int64_t d, int64_t h, int64_t w) {
            return x[((d * axes_[1].input + h) * axes_[2].input + w) * step];
          };
          y[window.output * step] = static_cast<T>(global_ ? WholeMean(window, at, from, to)
                                                           : Mean(window, at, from, to));
        });
      }
    });
    return absl::OkStatus();
  }

 private:
  // In the order of ONNX Runtime's float operations, so that results agree where a mean lies half
  // way between two bytes.
  template <typename At>
  uint8_t Mean(const PoolingWindow& window, At at, const ByteQuantization& from,
               const ByteQuantization& to) const {
    float sum = 0;
    ForEachTap(axes_, window,
               [&](int64_t d, int64_t h, int64_t w) { sum += from.Dequantize(at(d, h, w)); });
    const int64_t count = Divisor(axes_, window, count_include_pad_);
    // A window in the padding alone has no mean; its sum of nothing is 0.
    const float mean = count == 0 ? 0 : sum / static_cast<float>(count);
    // The zero point is rounded with the value.
    return Unscaled(to, 0).Quantize(mean / to.scale + static_cast<float>(to.zero_point));
  }
  // By one factor for both scales and the count.
  template <typename At>
  uint8_t WholeMean(const PoolingWindow& window, At at, const ByteQuantization& from,
                    const ByteQuantization& to) const {
    int64_t sum = 0;
    int64_t count = 0;
    ForEachTap(axes_, window, [&](int64_t d, int64_t h, int64_t w) {
      sum += at(d, h, w) - from.zero_point;
      ++count;
    });
    const float factor = from.scale / (to.scale * static_cast<float>(count));
    return Unscaled(to, to.zero_point).Quantize(count == 0 ? 0 : static_cast<float>(sum) * factor);
  }
  static ByteQuantization Unscaled(const ByteQuantization& q, int zero_point) {
    return {.type = q.type, .scale = 1, .zero_point = zero_point};
  }

  std::array<WindowAxis, 3> axes_;
  int64_t planes_;
  int64_t channels_;
  bool channels_last_;
  bool count_include_pad_;
  bool global_;
};

template <bool global>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  RETURN_IF_ERROR(ExpectOneElement(spec, {kXScale, kXZero, kYScale, kYZero}));
  ASSIGN_OR_RETURN(const PoolingShape shape,
                   Resolve(spec.attributes(), spec.input(kX).shape, global));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, OutputShape(spec.attributes(), shape)));
  ASSIGN_OR_RETURN(const auto axes, AsThreeAxes(shape.axes));
  if (spec.input(kX).type == ElementType::kInt8) {
    return std::make_unique<PoolKernel<int8_t>>(shape, axes, spec.attributes(), global);
  }
  return std::make_unique<PoolKernel<uint8_t>>(shape, axes, spec.attributes(), global);
}

}  // namespace

void RegisterQLinearPoolOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  const std::vector<FormalParameter> inputs = {{"X", "T", kByteTypes},
                                               {"x_scale", "", kFloat},
                                               {"x_zero_point", "T", kByteTypes, kOptional},
                                               {"y_scale", "", kFloat},
                                               {"y_zero_point", "T", kByteTypes, kOptional}};
  registry.Register({.domain = "com.microsoft",
                     .name = "QLinearAveragePool",
                     .inputs = inputs,
                     .outputs = {{"Y", "T", kByteTypes}},
                     .attributes = {{"auto_pad", Kind::kString},
                                    {"ceil_mode", Kind::kInt},
                                    {"channels_last", Kind::kInt},
                                    {"count_include_pad", Kind::kInt},
                                    {"kernel_shape", Kind::kInts, /*required=*/true},
                                    {"pads", Kind::kInts},
                                    {"strides", Kind::kInts}},
                     .infer = Infer<false>,
                     .reference = Reference<false>});
  registry.Register({.domain = "com.microsoft",
                     .name = "QLinearGlobalAveragePool",
                     .inputs = inputs,
                     .outputs = {{"Y", "T", kByteTypes}},
                     .attributes = {{"channels_last", Kind::kInt}},
                     .infer = Infer<true>,
                     .reference = Reference<true>});
}

}  // namespace inferd::engine
