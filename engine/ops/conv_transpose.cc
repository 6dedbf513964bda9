// ConvTranspose: the transpose of a convolution, as a gather for each output position.
#include <algorithm>
#include <array>
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/convolution_shape.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The position of X whose tap k lands on position y of Y, or -1. axis.output is the size of X.
int64_t SourceOf(const WindowAxis& axis, int64_t y, int64_t k) {
  const int64_t shifted = y + axis.pad_begin - k * axis.dilation;
  if (shifted < 0 || shifted % axis.stride != 0) return -1;
  const int64_t source = shifted / axis.stride;
  return source < axis.output ? source : -1;
}

template <typename T>
class ConvTransposeKernel final : public Kernel {
 public:
  ConvTransposeKernel(const ConvolutionShape& shape, const std::array<WindowAxis, 3>& axes)
      : shape_(shape), axes_(axes) {}

  absl::Status Run(KernelContext& context) const override {
    const auto [depth, height, width] = axes_;
    const int64_t outputs = shape_.output_channels();
    const int64_t y_plane = depth.input * height.input * width.input;
    const int64_t x_plane = depth.output * height.output * width.output;
    const int64_t filter = depth.kernel * height.kernel * width.kernel;
    const T* x = context.input(0).as<T>();
    const T* w = context.input(1).as<T>();
    const T* bias = context.has_input(2) ? context.input(2).as<T>() : nullptr;
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(shape_.batch * outputs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t image = plane / outputs;
        const int64_t channel = plane % outputs;
        const int64_t group = channel / shape_.outputs_per_group;
        const int64_t first = group * shape_.channels_per_group;
        Plane(
            x + (image * shape_.input_channels() + first) * x_plane,
            w + (first * shape_.outputs_per_group + channel % shape_.outputs_per_group) * filter,
            bias == nullptr ? 0.0 : static_cast<double>(static_cast<ComputeType<T>>(bias[channel])),
            y + plane * y_plane);
      }
    });
    return absl::OkStatus();
  }

 private:
  // One output channel of one image. x starts at the first input channel of its group, w at the
  // filter from that channel to this output.
  void Plane(const T* x, const T* w, double bias, T* y) const {
    const auto& [depth, height, width] = axes_;
    const int64_t next_filter =
        shape_.outputs_per_group * depth.kernel * height.kernel * width.kernel;
    for (int64_t d = 0; d < depth.input; ++d) {
      for (int64_t h = 0; h < height.input; ++h) {
        for (int64_t c = 0; c < width.input; c += kChunk) {
          const IndexRange chunk = {c, std::min(c + kChunk, width.input)};
          double sums[kChunk];
          std::fill_n(sums, chunk.end - chunk.begin, bias);
          for (int64_t ic = 0; ic < shape_.channels_per_group; ++ic) {
            for (int64_t kd = 0; kd < depth.kernel; ++kd) {
              const int64_t xd = SourceOf(depth, d, kd);
              if (xd < 0) continue;
              for (int64_t kh = 0; kh < height.kernel; ++kh) {
                const int64_t xh = SourceOf(height, h, kh);
                if (xh < 0) continue;
                AddRow(x + ((ic * depth.output + xd) * height.output + xh) * width.output,
                       w + ic * next_filter + (kd * height.kernel + kh) * width.kernel, chunk,
                       sums);
              }
            }
          }
          T* out = y + (d * height.input + h) * width.input;
          for (int64_t i = chunk.begin; i < chunk.end; ++i) {
            out[i] = static_cast<T>(static_cast<ComputeType<T>>(sums[i - chunk.begin]));
          }
        }
      }
    }
  }

  void AddRow(const T* row, const T* taps, IndexRange chunk, double* sums) const {
    const WindowAxis& width = axes_[2];
    for (int64_t k = 0; k < width.kernel; ++k) {
      const double tap = static_cast<ComputeType<T>>(taps[k]);
      const IndexRange sources = OutputsReading(width, k, chunk);
      for (int64_t i = sources.begin; i < sources.end; ++i) {
        sums[width.start(i) + k * width.dilation - chunk.begin] +=
            tap * static_cast<ComputeType<T>>(row[i]);
      }
    }
  }

  static constexpr int64_t kChunk = 256;

  ConvolutionShape shape_;
  std::array<WindowAxis, 3> axes_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(
      const ConvolutionShape shape,
      ResolveTransposedConvolution(spec.attributes(), spec.input(0).shape, spec.input(1).shape));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, TransposedOutputShape(shape)));
  if (spec.has_input(2) && spec.input(2).shape != Shape{shape.output_channels()}) {
    return absl::InvalidArgumentError(absl::StrCat("bias has shape ",
                                                   spec.input(2).shape.ToString(), ", expected [",
                                                   shape.output_channels(), "]"));
  }
  ASSIGN_OR_RETURN(const auto axes, AsThreeAxes(shape.axes));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    kernel = std::make_unique<ConvTransposeKernel<T>>(shape, axes);
  });
  return kernel;
}

}  // namespace

void RegisterConvTransposeOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "ConvTranspose",
                     .version = 22,
                     .inputs = {{"X", "T", type_sets::kFloats},
                                {"W", "T", type_sets::kFloats},
                                {"B", "T", type_sets::kFloats, FormalParameter::Option::kOptional}},
                     .outputs = {{"Y", "T", type_sets::kFloats}},
                     .attributes = {{"auto_pad", Kind::kString},
                                    {"dilations", Kind::kInts},
                                    {"group", Kind::kInt},
                                    {"kernel_shape", Kind::kInts},
                                    {"output_padding", Kind::kInts},
                                    {"output_shape", Kind::kInts},
                                    {"pads", Kind::kInts},
                                    {"strides", Kind::kInts}},
                     .infer = InferTransposedConvolution,
                     .reference = Reference});
}

}  // namespace inferd::engine
