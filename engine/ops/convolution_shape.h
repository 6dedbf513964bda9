// Geometry of Conv and ConvTranspose: one function each, used by shape inference, the reference
// kernel and every provider's candidates.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/ir/attribute.h"
#include "engine/ir/value_type.h"
#include "engine/ops/sliding_window.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

class InferenceContext;
struct NodeSpec;

// X is [batch, groups * channels_per_group, axes[i].input...], W is [groups * outputs_per_group,
// channels_per_group, axes[i].kernel...], Y is [batch, groups * outputs_per_group,
// axes[i].output...]. auto_pad is already resolved into the pads of the axes.
struct ConvolutionShape {
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t channels_per_group = 0;
  int64_t outputs_per_group = 0;
  absl::InlinedVector<WindowAxis, 3> axes;

  int64_t input_channels() const { return groups * channels_per_group; }
  int64_t output_channels() const { return groups * outputs_per_group; }
  int spatial_rank() const { return static_cast<int>(axes.size()); }
  // One group per input channel.
  bool depthwise() const { return channels_per_group == 1 && groups > 1; }
  // Every output position reads the input position of the same index and no other.
  bool pointwise() const;
  Shape OutputShape() const;
};

// From the attributes of Conv and the concrete shapes of X and W. INVALID_ARGUMENT says which of
// rank, channels, group, kernel_shape, strides, dilations or pads does not fit.
absl::StatusOr<ConvolutionShape> ResolveConvolution(const Attributes& attributes, const Shape& x,
                                                    const Shape& w);
// The same for a node of a plan; also checks the bias (input 2, where present) against
// output_channels().
absl::StatusOr<ConvolutionShape> ResolveConvolution(const NodeSpec& spec);

// Element type and shape of Y for any operator with Conv's attributes and first three inputs;
// unknown dimensions flow through.
absl::Status InferConvolution(InferenceContext& context);

// Shape of Y alone, for operators whose operands are ordered otherwise. Either rank may be unknown.
absl::StatusOr<SymbolicShape> ConvolutionOutputShape(const Attributes& attributes,
                                                     const SymbolicShape& x,
                                                     const SymbolicShape& w);

// ConvTranspose is described as the convolution it is the transpose of, seen from its output:
// axis.output is the size of X, axis.input the size of Y, and input position x adds to output
// positions x * stride - pad_begin + k * dilation. W is [groups * channels_per_group,
// outputs_per_group, kernel...]. Pads may be negative, where output_shape asks for more.
absl::StatusOr<ConvolutionShape> ResolveTransposedConvolution(const Attributes& attributes,
                                                              const Shape& x, const Shape& w);
// The shape of Y for what ResolveTransposedConvolution returned.
Shape TransposedOutputShape(const ConvolutionShape& shape);
absl::Status InferTransposedConvolution(InferenceContext& context);

}  // namespace inferd::engine
