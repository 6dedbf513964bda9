// Where Resize samples: output sizes, coordinates and filter weights, axis by axis.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/ir/attribute.h"
#include "engine/ir/value_type.h"

namespace inferd::engine {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
enum class CoordinateMode : uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfCropAndResize,
  kTfHalfPixelForNn  // opset 11 and 12 alone had it
};
enum class NearestMode : uint8_t { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };
enum class AspectRatioPolicy : uint8_t { kStretch, kNotLarger, kNotSmaller };

// The attributes of Resize.
struct ResizeOptions {
  ResizeMode mode = ResizeMode::kNearest;
  CoordinateMode coordinates = CoordinateMode::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  AspectRatioPolicy policy = AspectRatioPolicy::kStretch;
  bool antialias = false;
  bool exclude_outside = false;
  double cubic_a = -0.75;
  float extrapolation_value = 0;
  std::vector<int64_t> axes;  // empty: all
};
// INVALID_ARGUMENT names the attribute whose value the standard does not have.
absl::StatusOr<ResizeOptions> ReadResizeOptions(const Attributes& attributes);

// One axis of a concrete resize.
struct ResizeAxis {
  int64_t input = 0;
  int64_t output = 0;
  double scale = 1;
  double length = 0;  // scale * input, before rounding to `output`
  // `scale` is output / input, so that dividing by it is exact as input / output.
  bool from_size = true;
  double roi_start = 0;
  double roi_end = 1;

  // Output distance x as input distance. A given scale is a float that stands for a nearby
  // decimal, 0.6f for 3/5; rounding the quotient to float makes 1.5 / 0.6f the 2.5 it stands for.
  double Unscaled(double x) const {
    return from_size ? x * static_cast<double>(input) / static_cast<double>(output)
                     : static_cast<double>(static_cast<float>(x / scale));
  }
};

// The values of Resize's inputs that say how large the output is. One of scales and sizes is
// empty; each, and half of roi, has one element per resized axis.
struct ResizeTargets {
  std::vector<float> scales;
  std::vector<int64_t> sizes;
  std::vector<double> roi;  // empty: whole axes
};

// All axes of a tensor of shape `x`, in order. INVALID_ARGUMENT says which input does not fit.
absl::StatusOr<std::vector<ResizeAxis>> ResolveResize(const ResizeOptions& options,
                                                      absl::Span<const int64_t> x,
                                                      const ResizeTargets& targets);
// The output shape where dimensions of X may be unknown.
absl::StatusOr<SymbolicShape> ResizedShape(const ResizeOptions& options, const SymbolicShape& x,
                                           const ResizeTargets& targets);

// True where position o lies outside the input and takes the extrapolation value.
bool Extrapolates(const ResizeOptions& options, const ResizeAxis& axis, int64_t o);
// The input position nearest to output position o.
int64_t NearestSource(const ResizeOptions& options, const ResizeAxis& axis, int64_t o);

// A weighted sum of input positions.
struct Tap {
  int64_t source;
  double weight;
};
// The taps of output position o for linear and cubic interpolation; at least one.
std::vector<Tap> FilterTaps(const ResizeOptions& options, const ResizeAxis& axis, int64_t o);

}  // namespace inferd::engine
