// Convolution of 8-bit integers with 32-bit sums: ConvInteger and the kinds of QLinearConv.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/convolution_shape.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

class InferenceContext;

// Which inputs of the node are what. X and W are int8 or uint8; the zero points may be absent.
struct IntegerConvolutionInputs {
  int x = 0;
  int x_zero_point = 2;
  int w = 1;
  int w_zero_point = 3;
  // X and Y are [batch, spatial..., channels] instead of [batch, channels, spatial...].
  bool channels_last = false;
};

// Shape of Y.
absl::StatusOr<SymbolicShape> InferIntegerConvolution(const InferenceContext& context,
                                                      const IntegerConvolutionInputs& inputs);

class IntegerConvolution {
 public:
  static absl::StatusOr<IntegerConvolution> Make(const NodeSpec& spec,
                                                 const IntegerConvolutionInputs& inputs);

  const ConvolutionShape& shape() const { return shape_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  size_t held_bytes() const { return held_bytes_; }

  // sums[i] is output position first + i (row-major over the spatial axes) of a channel.
  using FinishFn = absl::FunctionRef<void(int64_t image, int64_t channel, int64_t first,
                                          int64_t count, const int32_t* sums)>;
  // Calls finish, from several threads at once, with every sum once. `workspace` has
  // workspace_bytes().
  void Run(KernelContext& context, void* workspace, FinishFn finish) const;

 private:
  // Where the elements of X are: those of neighbouring positions are position_stride apart.
  struct Source {
    int64_t image_stride;
    int64_t channel_stride;
    int64_t position_stride;
  };

  absl::Status Pack(const NodeSpec& spec);
  void PlanTiles(int threads);
  void PackRows(const void* w, const void* zero_point, int64_t begin, int64_t end,
                int16_t* packed) const;
  Source SourceOf() const;
  void GatherTile(const void* x, int zero_point, int64_t image, int64_t group, int64_t first,
                  int64_t count, int16_t* columns) const;
  void RunDirect(KernelContext& context, const void* x, int x_zero_point, const void* w,
                 const void* w_zero_point, FinishFn finish) const;
  void PlanPaddedRows();
  void RunPaddedPlane(const void* x, int x_zero_point, const void* w, int w_zero_point,
                      int64_t image, int64_t channel, FinishFn finish) const;
  void RunPlane(const void* x, int x_zero_point, const void* w, int w_zero_point, int64_t image,
                int64_t channel, FinishFn finish) const;
  void AddRow(const void* x, int x_zero_point, const void* w, int w_zero_point, int64_t image,
              int64_t channel, int64_t row, IndexRange chunk, int32_t* sums) const;

  IntegerConvolutionInputs inputs_;
  ConvolutionShape shape_;
  std::array<WindowAxis, 3> axes_;
  std::vector<IndexRange> width_inside_;  // OutputsInside of the innermost axis, by tap
  ElementType x_type_ = ElementType::kUndefined;
  ElementType w_type_ = ElementType::kUndefined;
  int64_t w_zero_points_ = 0;  // 0 where there is none, 1, or one per output channel
  int64_t filter_ = 0;         // elements of one filter
  int64_t depth_ = 0;          // the same, padded to whole vectors
  int64_t positions_ = 0;      // of one output plane
  bool direct_ = false;        // few outputs per group: gathering inputs would cost the most
  int64_t padded_rows_ = 0;    // rows direct computes together in one padded plane; 0: row by row
  // Otherwise the work is one item per image, group, tile of positions and part of the channels.
  int64_t tile_ = 0;
  int64_t tiles_ = 0;
  int64_t parts_ = 1;
  int64_t slots_ = 1;  // threads with workspace of their own
  Tensor packed_;      // undefined: W is packed at run time
  size_t workspace_bytes_ = 0;
  size_t held_bytes_ = 0;
};

}  // namespace inferd::engine
