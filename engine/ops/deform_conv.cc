// DeformConv: a convolution whose taps are moved by offsets that are data, and weighted by a mask
// (https://arxiv.org/abs/1703.06211, https://arxiv.org/abs/1811.11168).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/convolution_shape.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr int kOffset = 2;
constexpr int kBias = 3;
constexpr int kMask = 4;

// A position between pixels has two neighbours on each axis.
constexpr int kMaxAxes = 6;

int KnownRank(const InferenceContext& context) {
  for (const int i : {0, 1, kOffset}) {
    if (context.shape(i).has_rank()) return context.shape(i).rank();
  }
  return -1;
}

absl::Status Infer(InferenceContext& context) {
  const int rank = KnownRank(context);
  if (rank < 0) {
    context.SetOutput(0, context.element_type(0), {});
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(ExpectRank(context, 0, 3));
  for (const int i : {0, 1, kOffset}) RETURN_IF_ERROR(ExpectRank(context, i, rank, rank));
  const SymbolicShape& x = context.shape(0);
  const SymbolicShape& w = context.shape(1);
  const SymbolicShape& offset = context.shape(kOffset);
  ASSIGN_OR_RETURN(const WindowAttributes window,
                   ReadWindowAttributes(context.attributes(), rank - 2));
  const std::vector<int64_t> kernel = context.attributes().GetInts("kernel_shape");
  if (!kernel.empty()) RETURN_IF_ERROR(CheckKernelShape(kernel, rank - 2));
  SymbolicShape y = SymbolicShape::OfRank(rank);
  if (x.has_rank()) y[0] = x[0];
  if (w.has_rank()) y[1] = w[0];
  for (int i = 2; i < rank; ++i) {
    Dim taps = kernel.empty() ? Dim::Unknown() : Dim(kernel[i - 2]);
    if (w.has_rank() && w[i].known()) taps = w[i];
    if (x.has_rank()) {
      ASSIGN_OR_RETURN(y[i], WindowOutputDim(window, i - 2, x[i], taps));
    }
    if (!offset.has_rank()) continue;
    absl::StatusOr<Dim> merged = MergeDims(y[i], offset[i]);
    if (!merged.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input offset has shape ", offset.ToString(),
                                                     ", but spatial axis ", i - 2,
                                                     " of the output has size ", y[i].ToString()));
    }
    y[i] = *merged;
  }
  const auto x_shape = x.concrete(), w_shape = w.concrete();
  if (x_shape.has_value() && w_shape.has_value()) {
    RETURN_IF_ERROR(ResolveConvolution(context.attributes(), *x_shape, *w_shape).status());
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

// Weighted pixels of a plane.
struct Taps {
  int count = 0;
  std::array<int64_t, 1 << kMaxAxes> source;
  std::array<double, 1 << kMaxAxes> weight;
};

template <typename T>
class DeformConvKernel final : public Kernel {
 public:
  DeformConvKernel(const ConvolutionShape& shape, int64_t offset_groups)
      : shape_(shape), offset_groups_(offset_groups) {
    for (size_t i = shape_.axes.size(); i-- > 0;) {
      input_strides_.insert(input_strides_.begin(), input_plane_);
      input_plane_ *= shape_.axes[i].input;
      output_plane_ *= shape_.axes[i].output;
      taps_ *= shape_.axes[i].kernel;
    }
    // A chunk's samples should stay in cache.
    const int64_t rows = std::max<int64_t>(1, shape_.input_channels() * taps_);
    chunk_ = std::clamp<int64_t>((int64_t{1} << 16) / rows, 8, kMaxChunk);
  }

  absl::Status Run(KernelContext& context) const override {
    const int64_t chunks = (output_plane_ + chunk_ - 1) / chunk_;
    context.threads().ParallelFor(shape_.batch * chunks, 1, [&](int64_t begin, int64_t end) {
      std::vector<C> samples(shape_.input_channels() * taps_ * chunk_);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % chunks * chunk_;
        const int64_t count = std::min(chunk_, output_plane_ - first);
        Sample(context, i / chunks, first, count, samples.data());
        Convolve(context, i / chunks, first, count, samples.data());
      }
    });
    return absl::OkStatus();
  }

 private:
  using C = ComputeType<T>;
  static constexpr int64_t kMaxChunk = 128;

  // samples[channel][tap][position] for `count` output positions from `first` on.
  void Sample(KernelContext& context, int64_t image, int64_t first, int64_t count,
              C* samples) const {
    const int64_t axes = shape_.spatial_rank();
    const int64_t channels = shape_.input_channels() / offset_groups_;
    const T* x = context.input(0).as<T>() + image * shape_.input_channels() * input_plane_;
    const T* offsets = context.input(kOffset).as<T>();
    const T* mask = context.has_input(kMask) ? context.input(kMask).as<T>() : nullptr;
    Taps taps;
    for (int64_t g = 0; g < offset_groups_; ++g) {
      for (int64_t k = 0; k < taps_; ++k) {
        const int64_t row = (image * offset_groups_ + g) * taps_ + k;
        for (int64_t p = 0; p < count; ++p) {
          Locate(offsets + row * axes * output_plane_, k, first + p, taps);
          const C scale =
              mask == nullptr ? C{1} : static_cast<C>(mask[row * output_plane_ + first + p]);
          for (int64_t c = g * channels; c < (g + 1) * channels; ++c) {
            const T* plane = x + c * input_plane_;
            double sum = 0;
            for (int t = 0; t < taps.count; ++t) {
              sum += taps.weight[t] * static_cast<C>(plane[taps.source[t]]);
            }
            samples[(c * taps_ + k) * chunk_ + p] = scale * static_cast<C>(sum);
          }
        }
      }
    }
  }

  // The pixels around tap k of output position p, moved by its offsets: one plane for each axis.
  void Locate(const T* offsets, int64_t k, int64_t p, Taps& taps) const {
    taps.count = 1;
    taps.source[0] = 0;
    taps.weight[0] = 1;
    int64_t tap = k, position = p;
    for (int a = shape_.spatial_rank() - 1; a >= 0; --a) {
      const WindowAxis& axis = shape_.axes[a];
      const double x = static_cast<double>(axis.start(position % axis.output) +
                                           tap % axis.kernel * axis.dilation) +
                       static_cast<double>(static_cast<C>(offsets[a * output_plane_ + p]));
      position /= axis.output;
      tap /= axis.kernel;
      // Beyond the pixels there are zeros. NaN is nowhere.
      if (!(x > -1 && x < static_cast<double>(axis.input))) {
        taps.count = 0;
        return;
      }
      const double below = std::floor(x);
      const double fraction = x - below;
      const int64_t low = static_cast<int64_t>(below);
      const bool has_low = low >= 0, has_high = low + 1 < axis.input;
      const int kept = taps.count;
      int count = 0;
      // The lower neighbours take the place of the old taps, the upper ones follow.
      std::array<int64_t, 1 << kMaxAxes> source;
      std::array<double, 1 << kMaxAxes> weight;
      std::copy_n(taps.source.begin(), kept, source.begin());
      std::copy_n(taps.weight.begin(), kept, weight.begin());
      for (int t = 0; t < kept; ++t) {
        if (has_low) {
          taps.source[count] = source[t] + low * input_strides_[a];
          taps.weight[count++] = weight[t] * (1 - fraction);
        }
        if (has_high) {
          taps.source[count] = source[t] + (low + 1) * input_strides_[a];
          taps.weight[count++] = weight[t] * fraction;
        }
      }
      taps.count = count;
    }
  }

  void Convolve(KernelContext& context, int64_t image, int64_t first, int64_t count,
                const C* samples) const {
    const T* w = context.input(1).as<T>();
    const T* bias = context.has_input(kBias) ? context.input(kBias).as<T>() : nullptr;
    T* y = context.output(0).as<T>() + image * shape_.output_channels() * output_plane_;
    const int64_t rows = shape_.channels_per_group * taps_;
    for (int64_t oc = 0; oc < shape_.output_channels(); ++oc) {
      const C* group = samples + oc / shape_.outputs_per_group * rows * chunk_;
      double sums[kMaxChunk];
      std::fill_n(sums, count,
                  bias == nullptr ? 0.0 : static_cast<double>(static_cast<C>(bias[oc])));
      for (int64_t r = 0; r < rows; ++r) {
        const double weight = static_cast<C>(w[oc * rows + r]);
        const C* row = group + r * chunk_;
        for (int64_t p = 0; p < count; ++p) sums[p] += weight * row[p];
      }
      T* out = y + oc * output_plane_ + first;
      for (int64_t p = 0; p < count; ++p) out[p] = static_cast<T>(static_cast<C>(sums[p]));
    }
  }

  ConvolutionShape shape_;
  int64_t offset_groups_;
  std::vector<int64_t> input_strides_;
  int64_t input_plane_ = 1, output_plane_ = 1, taps_ = 1;
  int64_t chunk_;
};

absl::Status CheckOperand(const NodeSpec& spec, int i, const Shape& expected) {
  if (!spec.has_input(i) || spec.input(i).shape == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", std::string(spec.op().inputs[i].name),
                                                 " has shape ", spec.input(i).shape.ToString(),
                                                 ", expected ", expected.ToString()));
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const ConvolutionShape shape,
                   ResolveConvolution(spec.attributes(), spec.input(0).shape, spec.input(1).shape));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, shape.OutputShape()));
  if (shape.spatial_rank() > kMaxAxes) {
    return absl::UnimplementedError(absl::StrCat("windows over ", shape.spatial_rank(),
                                                 " spatial axes; supported are up to ", kMaxAxes));
  }
  const int64_t groups = spec.attributes().GetInt("offset_group", 1);
  if (groups < 1 || shape.input_channels() % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("attribute offset_group is ", groups,
                                                   ", expected a divisor of the ",
                                                   shape.input_channels(), " channels of X"));
  }
  int64_t taps = 1;
  for (const WindowAxis& axis : shape.axes) taps *= axis.kernel;
  Shape offset = shape.OutputShape(), mask = offset;
  offset[1] = groups * taps * shape.spatial_rank();
  mask[1] = groups * taps;
  RETURN_IF_ERROR(CheckOperand(spec, kOffset, offset));
  RETURN_IF_ERROR(CheckOperand(spec, kMask, mask));
  RETURN_IF_ERROR(CheckOperand(spec, kBias, Shape{shape.output_channels()}));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    kernel = std::make_unique<DeformConvKernel<T>>(shape, groups);
  });
  return kernel;
}

}  // namespace

void RegisterDeformConvOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  registry.Register({.name = "DeformConv",
                     .version = 22,
                     .oldest_version = 19,
                     .inputs = {{"X", "T", type_sets::kFloats},
                                {"W", "T", type_sets::kFloats},
                                {"offset", "T", type_sets::kFloats},
                                {"B", "T", type_sets::kFloats, kOptional},
                                {"mask", "T", type_sets::kFloats, kOptional}},
                     .outputs = {{"Y", "T", type_sets::kFloats}},
                     .attributes = {{"dilations", Kind::kInts},
                                    {"group", Kind::kInt},
                                    {"kernel_shape", Kind::kInts},
                                    {"offset_group", Kind::kInt},
                                    {"pads", Kind::kInts},
                                    {"strides", Kind::kInts}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
