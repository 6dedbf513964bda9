// Conv: cross-correlation of a batch of images with a bank of filters.
#include <algorithm>
#include <array>
#include <memory>

#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/convolution_shape.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// A filter that touches one position at a time sees an image as one long row.
std::array<WindowAxis, 3> MergePointwise(const std::array<WindowAxis, 3>& axes) {
  std::array<WindowAxis, 3> merged = axes;
  for (int i = 0; i < 2; ++i) {
    merged[2].input *= merged[i].input;
    merged[2].output *= merged[i].output;
    merged[i].input = 1;
    merged[i].output = 1;
  }
  return merged;
}

template <typename T>
class ConvKernel final : public Kernel {
 public:
  ConvKernel(const ConvolutionShape& shape, const std::array<WindowAxis, 3>& axes)
      : shape_(shape), axes_(axes) {}

  absl::Status Run(KernelContext& context) const override {
    const auto [depth, height, width] = axes_;
    const int64_t outputs = shape_.output_channels();
    const int64_t input_plane = depth.input * height.input * width.input;
    const int64_t output_plane = depth.output * height.output * width.output;
    const int64_t filter = shape_.channels_per_group * depth.kernel * height.kernel * width.kernel;
    const T* x = context.input(0).as<T>();
    const T* w = context.input(1).as<T>();
    const T* bias = context.has_input(2) ? context.input(2).as<T>() : nullptr;
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(shape_.batch * outputs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t image = plane / outputs;
        const int64_t channel = plane % outputs;
        const int64_t group = channel / shape_.outputs_per_group;
        const int64_t first = image * shape_.input_channels() + group * shape_.channels_per_group;
        Plane(
            x + first * input_plane, w + channel * filter,
            bias == nullptr ? 0.0 : static_cast<double>(static_cast<ComputeType<T>>(bias[channel])),
            y + plane * output_plane);
      }
    });
    return absl::OkStatus();
  }

 private:
  // One output channel of one image; x starts at the first input channel of its group.
  void Plane(const T* x, const T* w, double bias, T* y) const {
    const auto& [depth, height, width] = axes_;
    for (int64_t d = 0; d < depth.output; ++d) {
      const IndexRange depth_taps = TapsInside(depth, d);
      for (int64_t h = 0; h < height.output; ++h) {
        const IndexRange height_taps = TapsInside(height, h);
        for (int64_t c = 0; c < width.output; c += kChunk) {
          const IndexRange chunk = {c, std::min(c + kChunk, width.output)};
          double sums[kChunk];
          std::fill_n(sums, chunk.end - chunk.begin, bias);
          for (int64_t ic = 0; ic < shape_.channels_per_group; ++ic) {
            for (int64_t kd = depth_taps.begin; kd < depth_taps.end; ++kd) {
              const int64_t id = depth.start(d) + kd * depth.dilation;
              for (int64_t kh = height_taps.begin; kh < height_taps.end; ++kh) {
                const int64_t ih = height.start(h) + kh * height.dilation;
                const T* row = x + ((ic * depth.input + id) * height.input + ih) * width.input;
                const T* taps = w + ((ic * depth.kernel + kd) * height.kernel + kh) * width.kernel;
                AddRow(row, taps, chunk, sums);
              }
            }
          }
          T* out = y + (d * height.output + h) * width.output;
          for (int64_t i = chunk.begin; i < chunk.end; ++i) {
            out[i] = static_cast<T>(static_cast<ComputeType<T>>(sums[i - chunk.begin]));
          }
        }
      }
    }
  }

  // Adds what one input row contributes to the output positions of `chunk`.
  void AddRow(const T* row, const T* taps, IndexRange chunk, double* sums) const {
    const WindowAxis& width = axes_[2];
    for (int64_t k = 0; k < width.kernel; ++k) {
      const double tap = static_cast<ComputeType<T>>(taps[k]);
      const IndexRange inside = OutputsInside(width, k);
      const int64_t begin = std::max(chunk.begin, inside.begin);
      const int64_t end = std::min(chunk.end, inside.end);
      if (begin >= end) continue;
      const T* source = row + (width.start(begin) + k * width.dilation);
      double* target = sums + (begin - chunk.begin);
      if (width.stride == 1) {
        for (int64_t i = 0; i < end - begin; ++i) {
          target[i] += tap * static_cast<ComputeType<T>>(source[i]);
        }
      } else {
        for (int64_t i = 0; i < end - begin; ++i) {
          target[i] += tap * static_cast<ComputeType<T>>(source[i * width.stride]);
        }
      }
    }
  }

  static constexpr int64_t kChunk = 256;

  ConvolutionShape shape_;
  std::array<WindowAxis, 3> axes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const ConvolutionShape shape, ResolveConvolution(spec));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, shape.OutputShape()));
  ASSIGN_OR_RETURN(auto axes, AsThreeAxes(shape.axes));
  if (shape.pointwise()) axes = MergePointwise(axes);
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    kernel = std::make_unique<ConvKernel<T>>(shape, axes);
  });
  return kernel;
}

}  // namespace

void RegisterConvOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "Conv",
                     .version = 22,
                     .inputs = {{"X", "T", type_sets::kFloats},
                                {"W", "T", type_sets::kFloats},
                                {"B", "T", type_sets::kFloats, FormalParameter::Option::kOptional}},
                     .outputs = {{"Y", "T", type_sets::kFloats}},
                     .attributes = {{"auto_pad", Kind::kString},
                                    {"dilations", Kind::kInts},
                                    {"group", Kind::kInt},
                                    {"kernel_shape", Kind::kInts},
                                    {"pads", Kind::kInts},
                                    {"strides", Kind::kInts}},
                     .infer = InferConvolution,
                     .reference = Reference});
}

}  // namespace inferd::engine
