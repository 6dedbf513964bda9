// Integer convolution without gathering: for few output channels per group, depthwise filters
// above all, where each input would be gathered for next to nothing.
#include <algorithm>

#include "engine/ops/integer_convolution.h"
#include "engine/ops/integer_product.h"

namespace inferd::engine {
namespace {

// Positions summed at once, row by row, and taps added to them at once.
constexpr int64_t kDirectChunk = 256;
constexpr int64_t kTapBlock = 16;
// Elements of the padded rows that are computed together, and taps of a filter over them.
constexpr int64_t kPaddedPlane = 4096;
constexpr int64_t kMaxPlaneTaps = 64;

}  // namespace

void IntegerConvolution::RunDirect(KernelContext& context, const void* x, int x_zero_point,
                                   const void* w, const void* w_zero_point, FinishFn finish) const {
  const int64_t outputs = shape_.output_channels();
  context.threads().ParallelFor(shape_.batch * outputs, 1, [&](int64_t plane, int64_t planes_end) {
    for (; plane < planes_end; ++plane) {
      const int64_t channel = plane % outputs;
      const int zero = w_zero_point == nullptr
                           ? 0
                           : LoadByte(w_type_, w_zero_point, w_zero_points_ == 1 ? 0 : channel);
      if (padded_rows_ > 0) {
        RunPaddedPlane(x, x_zero_point, w, zero, plane / outputs, channel, finish);
      } else {
        RunPlane(x, x_zero_point, w, zero, plane / outputs, channel, finish);
      }
    }
  });
}

// Short rows are finished several at a time.
void IntegerConvolution::RunPlane(const void* x, int x_zero_point, const void* w, int w_zero_point,
                                  int64_t image, int64_t channel, FinishFn finish) const {
  const int64_t width = axes_[2].output;
  const int64_t rows = axes_[0].output * axes_[1].output;
  int32_t sums[kDirectChunk];
  if (width > kDirectChunk) {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t first = 0; first < width; first += kDirectChunk) {
        const IndexRange chunk = {first, std::min(first + kDirectChunk, width)};
        std::fill_n(sums, chunk.end - chunk.begin, 0);
        AddRow(x, x_zero_point, w, w_zero_point, image, channel, row, chunk, sums);
        finish(image, channel, row * width + first, chunk.end - chunk.begin, sums);
      }
    }
    return;
  }
  const int64_t block = kDirectChunk / std::max<int64_t>(1, width);
  for (int64_t first = 0; first < rows; first += block) {
    const int64_t count = std::min(block, rows - first);
    std::fill_n(sums, count * width, 0);
    for (int64_t i = 0; i < count; ++i) {
      AddRow(x, x_zero_point, w, w_zero_point, image, channel, first + i, {0, width},
             sums + i * width);
    }
    finish(image, channel, first * width, count * width, sums);
  }
}

// Adds to sums[i] what output position chunk.begin + i of one row comes to.
void IntegerConvolution::AddRow(const void* x, int x_zero_point, const void* w, int w_zero_point,
                                int64_t image, int64_t channel, int64_t row, IndexRange chunk,
                                int32_t* sums) const {
  const auto& [depth, height, width] = axes_;
  const Source source = SourceOf();
  const int64_t group = channel / shape_.outputs_per_group;
  const int64_t base =
      image * source.image_stride + group * shape_.channels_per_group * source.channel_stride;
  const int64_t step = width.stride * source.position_stride;
  const int64_t oh = row % height.output;
  const int64_t od = row / height.output;
  const IndexRange depth_taps = TapsInside(depth, od);
  const IndexRange height_taps = TapsInside(height, oh);
  RowTap taps[kTapBlock];
  int64_t count = 0;
  const auto flush = [&] {
    AddRowTaps(x_type_, x, step, x_zero_point, taps, count, sums);
    count = 0;
  };
  for (int64_t c = 0; c < shape_.channels_per_group; ++c) {
    for (int64_t kd = depth_taps.begin; kd < depth_taps.end; ++kd) {
      for (int64_t kh = height_taps.begin; kh < height_taps.end; ++kh) {
        const int64_t id = depth.start(od) + kd * depth.dilation;
        const int64_t ih = height.start(oh) + kh * height.dilation;
        const int64_t x_row = base + c * source.channel_stride +
                              (id * height.input + ih) * width.input * source.position_stride;
        const int64_t w_row =
            channel * filter_ + ((c * depth.kernel + kd) * height.kernel + kh) * width.kernel;
        for (int64_t kw = 0; kw < width.kernel; ++kw) {
          const IndexRange& inside = width_inside_[kw];
          const int64_t begin = std::max(chunk.begin, inside.begin);
          const int64_t end = std::min(chunk.end, inside.end);
          if (begin >= end) continue;
          const int64_t at = width.start(chunk.begin) + kw * width.dilation;
          taps[count++] = {x_row + at * source.position_stride, begin - chunk.begin,
                           end - chunk.begin, LoadByte(w_type_, w, w_row + kw) - w_zero_point};
          if (count == kTapBlock) flush();
        }
      }
    }
  }
  flush();
}

// Where positions are one apart on both axes of an image, tap (h, w) of every position of some
// rows is a shifted copy of the padded rows: one long loop for each tap, whatever the width.
void IntegerConvolution::PlanPaddedRows() {
  const auto& [depth, height, width] = axes_;
  if (depth.kernel != 1 || depth.input != 1 || depth.output != 1 || height.stride != 1 ||
      width.stride != 1 || height.kernel * width.kernel > kMaxPlaneTaps) {
    return;
  }
  if (width.output + width.extent() > kPaddedPlane || height.extent() > kPaddedPlane) return;
  const int64_t rows = kPaddedPlane / (width.output + width.extent() - 1) - (height.extent() - 1);
  padded_rows_ = std::clamp<int64_t>(rows, 0, std::max<int64_t>(0, height.output));
}

void IntegerConvolution::RunPaddedPlane(const void* x, int x_zero_point, const void* w,
                                        int w_zero_point, int64_t image, int64_t channel,
                                        FinishFn finish) const {
  const auto& [depth, height, width] = axes_;
  const Source source = SourceOf();
  const int64_t group = channel / shape_.outputs_per_group;
  const int64_t pitch = width.output + width.extent() - 1;
  // Columns of a padded row that lie inside the image.
  const int64_t inside_begin = std::min(width.pad_begin, pitch);
  const int64_t inside_end = std::clamp(width.pad_begin + width.input, inside_begin, pitch);
  int16_t plane[kPaddedPlane];
  int32_t sums[kPaddedPlane];
  PlaneTap taps[kMaxPlaneTaps];
  for (int64_t first = 0; first < height.output; first += padded_rows_) {
    const int64_t rows = std::min(padded_rows_, height.output - first);
    const int64_t count = (rows - 1) * pitch + width.output;
    std::fill_n(sums, count, 0);
    for (int64_t c = 0; c < shape_.channels_per_group; ++c) {
      const int64_t base = image * source.image_stride +
                           (group * shape_.channels_per_group + c) * source.channel_stride;
      for (int64_t r = 0; r < rows + height.extent() - 1; ++r) {
        const int64_t ih = first + r - height.pad_begin;
        int16_t* line = plane + r * pitch;
        if (ih < 0 || ih >= height.input) {
          std::fill_n(line, pitch, int16_t{0});
          continue;
        }
        std::fill_n(line, inside_begin, int16_t{0});
        WidenRow(
            x_type_, x,
            base + (ih * width.input + inside_begin - width.pad_begin) * source.position_stride,
            source.position_stride, inside_end - inside_begin, x_zero_point, pitch - inside_begin,
            line + inside_begin);
      }
      int64_t tap_count = 0;
      for (int64_t kh = 0; kh < height.kernel; ++kh) {
        for (int64_t kw = 0; kw < width.kernel; ++kw) {
          const int64_t tap = (c * height.kernel + kh) * width.kernel + kw;
          taps[tap_count++] = {kh * height.dilation * pitch + kw * width.dilation,
                               LoadByte(w_type_, w, channel * filter_ + tap) - w_zero_point};
        }
      }
      AddPlaneTaps(plane, taps, tap_count, count, sums);
    }
    // What lies between the rows is no output.
    for (int64_t r = 1; r < rows; ++r) {
      std::copy_n(sums + r * pitch, width.output, sums + r * width.output);
    }
    finish(image, channel, first * width.output, rows * width.output, sums);
  }
}

}  // namespace inferd::engine
