#include "engine/ops/integer_convolution.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/kernel/packed_weights.h"
#include "engine/ops/integer_product.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Positions gathered at once, so that they stay in the first-level cache.
constexpr int64_t kMaxTile = 64;
constexpr int64_t kMinTile = 8;
constexpr int64_t kTileBytes = 32 << 10;
// Output channels multiplied at once.
constexpr int64_t kChannelBlock = 32;
// Taps gathered at once.
constexpr int64_t kTapBlock = 16;
// Fewer outputs per group are computed directly.
constexpr int64_t kMinOutputsToGather = 4;

template <typename Dims>
void MoveChannelsSecond(Dims& dims) {
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
}
template <typename Dims>
void MoveChannelsLast(Dims& dims) {
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
}

absl::Status CheckZeroPoint(absl::string_view name, int64_t count, int64_t channels) {
  if (count == 1 || count == channels) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input ", name, " has ", count, " elements, expected 1",
                   channels == 1 ? "" : absl::StrCat(" or ", channels)));
}

}  // namespace

absl::StatusOr<SymbolicShape> InferIntegerConvolution(const InferenceContext& context,
                                                      const IntegerConvolutionInputs& inputs) {
  SymbolicShape x = context.shape(inputs.x);
  if (inputs.channels_last && x.has_rank()) {
    if (x.rank() < 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("input x has shape ", x.ToString(), ", expected [N, spatial..., C]"));
    }
    std::vector<Dim> dims = x.dims();
    MoveChannelsSecond(dims);
    x = SymbolicShape(std::move(dims));
  }
  ASSIGN_OR_RETURN(SymbolicShape y,
                   ConvolutionOutputShape(context.attributes(), x, context.shape(inputs.w)));
  if (!inputs.channels_last || !y.has_rank()) return y;
  std::vector<Dim> dims = y.dims();
  MoveChannelsLast(dims);
  return SymbolicShape(std::move(dims));
}

absl::StatusOr<IntegerConvolution> IntegerConvolution::Make(
    const NodeSpec& spec, const IntegerConvolutionInputs& inputs) {
  IntegerConvolution c;
  c.inputs_ = inputs;
  c.x_type_ = spec.input(inputs.x).type;
  c.w_type_ = spec.input(inputs.w).type;
  std::vector<int64_t> x(spec.input(inputs.x).shape.begin(), spec.input(inputs.x).shape.end());
  if (inputs.channels_last && x.size() >= 3) MoveChannelsSecond(x);
  ASSIGN_OR_RETURN(c.shape_, ResolveConvolution(spec.attributes(), Shape(absl::MakeConstSpan(x)),
                                                spec.input(inputs.w).shape));
  const Shape y = c.shape_.OutputShape();
  std::vector<int64_t> y_dims(y.begin(), y.end());
  if (inputs.channels_last) MoveChannelsLast(y_dims);
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape(absl::MakeConstSpan(y_dims))));
  if (spec.has_input(inputs.x_zero_point)) {
    RETURN_IF_ERROR(
        CheckZeroPoint("x_zero_point", spec.input(inputs.x_zero_point).shape.NumElements(), 1));
  }
  if (spec.has_input(inputs.w_zero_point)) {
    c.w_zero_points_ = spec.input(inputs.w_zero_point).shape.NumElements();
    RETURN_IF_ERROR(CheckZeroPoint("w_zero_point", c.w_zero_points_, c.shape_.output_channels()));
  }
  ASSIGN_OR_RETURN(c.axes_, AsThreeAxes(c.shape_.axes));
  if (c.shape_.pointwise()) {
    // A filter that touches one position at a time sees an image as one long row.
    for (int i = 0; i < 2; ++i) {
      c.axes_[2].input *= c.axes_[i].input;
      c.axes_[2].output *= c.axes_[i].output;
      c.axes_[i].input = c.axes_[i].output = 1;
    }
  }
  c.filter_ =
      c.shape_.channels_per_group * c.axes_[0].kernel * c.axes_[1].kernel * c.axes_[2].kernel;
  c.depth_ = PaddedDepth(c.filter_);
  c.positions_ = c.axes_[0].output * c.axes_[1].output * c.axes_[2].output;
  // Without weights no tap is looked at, however many the shape has.
  const int64_t width_taps = spec.input(inputs.w).shape.NumElements() == 0 ? 0 : c.axes_[2].kernel;
  for (int64_t k = 0; k < width_taps; ++k) {
    c.width_inside_.push_back(OutputsInside(c.axes_[2], k));
  }
  c.direct_ = c.shape_.outputs_per_group < kMinOutputsToGather;
  if (c.direct_) {
    c.PlanPaddedRows();
    return c;
  }
  RETURN_IF_ERROR(c.Pack(spec));
  c.PlanTiles(spec.threads);
  return c;
}

absl::Status IntegerConvolution::Pack(const NodeSpec& spec) {
  const OperandSpec& w = spec.input(inputs_.w);
  const bool zero_point_known =
      w_zero_points_ == 0 || spec.input(inputs_.w_zero_point).constant != nullptr;
  if (w.constant == nullptr || !zero_point_known) return absl::OkStatus();
  const Tensor* zero_point =
      w_zero_points_ == 0 ? nullptr : spec.input(inputs_.w_zero_point).constant;
  const auto pack = [&]() -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor packed, Tensor::Allocate(ElementType::kInt16,
                                                     Shape{shape_.output_channels(), depth_}));
    PackRows(w.constant->view().data, zero_point == nullptr ? nullptr : zero_point->view().data, 0,
             shape_.output_channels(), packed.mutable_data<int16_t>());
    return packed;
  };
  if (spec.packed_weights != nullptr) {
    const std::string form =
        absl::StrCat("int16 filters of ", depth_, " less ",
                     zero_point == nullptr
                         ? ""
                         : absl::BytesToHexString(absl::string_view(
                               static_cast<const char*>(zero_point->view().data), w_zero_points_)));
    ASSIGN_OR_RETURN(packed_, spec.packed_weights->GetOrPack(*w.constant, form, pack));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(packed_, pack());
  held_bytes_ = packed_.num_bytes();
  return absl::OkStatus();
}

void IntegerConvolution::PlanTiles(int threads) {
  slots_ = std::max(1, threads);
  tile_ = std::clamp(kTileBytes / (depth_ * 2) / 4 * 4, kMinTile, kMaxTile);
  tile_ = std::min(tile_, std::max<int64_t>(positions_, 1));
  tiles_ = (positions_ + tile_ - 1) / tile_;
  const int64_t items = std::max<int64_t>(1, shape_.batch * shape_.groups * tiles_);
  if (items < slots_) {
    parts_ = std::clamp<int64_t>(shape_.outputs_per_group / 16, 1, (slots_ + items - 1) / items);
  }
  const size_t slot_bytes =
      tile_ * depth_ * sizeof(int16_t) + kChannelBlock * tile_ * sizeof(int32_t);
  workspace_bytes_ = slots_ * slot_bytes;
  if (!packed_.defined()) {
    workspace_bytes_ += shape_.output_channels() * depth_ * sizeof(int16_t);
  }
}

void IntegerConvolution::PackRows(const void* w, const void* zero_point, int64_t begin, int64_t end,
                                  int16_t* packed) const {
  for (int64_t row = begin; row < end; ++row) {
    const int zero =
        zero_point == nullptr ? 0 : LoadByte(w_type_, zero_point, w_zero_points_ == 1 ? 0 : row);
    WidenRow(w_type_, w, row * filter_, 1, filter_, zero, depth_, packed + row * depth_);
  }
}

void IntegerConvolution::Run(KernelContext& context, void* workspace, FinishFn finish) const {
  const void* w = context.input(inputs_.w).data;
  const void* w_zero_point =
      w_zero_points_ == 0 ? nullptr : context.input(inputs_.w_zero_point).data;
  const void* x = context.input(inputs_.x).data;
  const int x_zero_point = context.has_input(inputs_.x_zero_point)
                               ? LoadByte(x_type_, context.input(inputs_.x_zero_point).data, 0)
                               : 0;
  if (direct_) {
    RunDirect(context, x, x_zero_point, w, w_zero_point, finish);
    return;
  }
  char* memory = static_cast<char*>(workspace);
  const int16_t* filters;
  if (packed_.defined()) {
    filters = packed_.data<int16_t>();
  } else {
    int16_t* target = reinterpret_cast<int16_t*>(memory);
    memory += shape_.output_channels() * depth_ * sizeof(int16_t);
    context.threads().ParallelFor(
        shape_.output_channels(), std::max<int64_t>(1, (1 << 14) / depth_),
        [&](int64_t begin, int64_t end) { PackRows(w, w_zero_point, begin, end, target); });
    filters = target;
  }
  const int64_t items = shape_.batch * shape_.groups * tiles_ * parts_;
  const int64_t slot_bytes =
      tile_ * depth_ * sizeof(int16_t) + kChannelBlock * tile_ * sizeof(int32_t);
  context.threads().ParallelFor(slots_, 1, [&](int64_t slot_begin, int64_t slot_end) {
    for (int64_t slot = slot_begin; slot < slot_end; ++slot) {
      int16_t* columns = reinterpret_cast<int16_t*>(memory + slot * slot_bytes);
      int32_t* sums = reinterpret_cast<int32_t*>(columns + tile_ * depth_);
      for (int64_t item = items * slot / slots_; item < items * (slot + 1) / slots_; ++item) {
        const int64_t part = item % parts_;
        const int64_t tile = item / parts_ % tiles_;
        const int64_t group = item / parts_ / tiles_ % shape_.groups;
        const int64_t image = item / parts_ / tiles_ / shape_.groups;
        const int64_t first = tile * tile_;
        const int64_t count = std::min(tile_, positions_ - first);
        GatherTile(x, x_zero_point, image, group, first, count, columns);
        const int64_t outputs = shape_.outputs_per_group;
        const int64_t part_end = outputs * (part + 1) / parts_;
        for (int64_t o = outputs * part / parts_; o < part_end; o += kChannelBlock) {
          const int64_t block = std::min(kChannelBlock, part_end - o);
          const int64_t channel = group * outputs + o;
          MultiplyInt16(filters + channel * depth_, block, columns, count, depth_, sums, count);
          for (int64_t i = 0; i < block; ++i) {
            finish(image, channel + i, first, count, sums + i * count);
          }
        }
      }
    }
  });
}

IntegerConvolution::Source IntegerConvolution::SourceOf() const {
  const int64_t plane = axes_[0].input * axes_[1].input * axes_[2].input;
  const int64_t channels = shape_.input_channels();
  return {plane * channels, inputs_.channels_last ? 1 : plane,
          inputs_.channels_last ? channels : 1};
}

// columns[p * depth + k] = what tap k reads at position first + p, less the zero point; 0 outside
// the image and past the last tap.
void IntegerConvolution::GatherTile(const void* x, int zero_point, int64_t image, int64_t group,
                                    int64_t first, int64_t count, int16_t* columns) const {
  const auto& [depth, height, width] = axes_;
  const Source source = SourceOf();
  const int64_t base =
      image * source.image_stride + group * shape_.channels_per_group * source.channel_stride;
  const int64_t taps = depth.kernel * height.kernel * width.kernel;
  int16_t lines[kTapBlock][kMaxTile];
  for (int64_t k0 = 0; k0 < depth_; k0 += kTapBlock) {
    const int64_t block = std::min(kTapBlock, std::max<int64_t>(0, filter_ - k0));
    for (int64_t k = 0; k < block; ++k) {
      const int64_t channel = (k0 + k) / taps;
      const int64_t tap = (k0 + k) % taps;
      const int64_t kw = tap % width.kernel;
      const int64_t kh = tap / width.kernel % height.kernel;
      const int64_t kd = tap / width.kernel / height.kernel;
      const IndexRange inside = width_inside_[kw];
      // Row by row of the output.
      for (int64_t p = 0; p < count;) {
        const int64_t position = first + p;
        const int64_t ow = position % width.output;
        const int64_t oh = position / width.output % height.output;
        const int64_t od = position / width.output / height.output;
        const int64_t length = std::min(count - p, width.output - ow);
        const int64_t ih = height.start(oh) + kh * height.dilation;
        const int64_t id = depth.start(od) + kd * depth.dilation;
        int16_t* line = lines[k] + p;
        p += length;
        const int64_t begin = std::clamp<int64_t>(inside.begin, ow, ow + length);
        const int64_t end = std::clamp<int64_t>(inside.end, begin, ow + length);
        if (ih < 0 || ih >= height.input || id < 0 || id >= depth.input || begin == end) {
          std::fill_n(line, length, int16_t{0});
          continue;
        }
        const int64_t iw = width.start(begin) + kw * width.dilation;
        const int64_t at = base + channel * source.channel_stride +
                           ((id * height.input + ih) * width.input + iw) * source.position_stride;
        std::fill(line, line + (begin - ow), int16_t{0});
        WidenRow(x_type_, x, at, width.stride * source.position_stride, end - begin, zero_point,
                 ow + length - begin, line + (begin - ow));
      }
    }
    for (int64_t k = block; k < kTapBlock; ++k) std::fill_n(lines[k], count, int16_t{0});
    for (int64_t p = 0; p < count; ++p) {
      int16_t* column = columns + p * depth_ + k0;
      for (int64_t k = 0; k < kTapBlock; ++k) column[k] = lines[k][p];
    }
  }
}

}  // namespace inferd::engine
