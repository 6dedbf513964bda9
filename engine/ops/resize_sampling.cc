#include "engine/ops/resize_sampling.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

template <typename E>
absl::StatusOr<E> ReadEnum(const Attributes& attributes, const char* name,
                           std::initializer_list<std::pair<const char*, E>> spellings) {
  const std::string value = attributes.GetString(name, spellings.begin()->first);
  std::string known;
  for (const auto& [spelling, meaning] : spellings) {
    if (value == spelling) return meaning;
    absl::StrAppend(&known, known.empty() ? "" : ", ", spelling);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("attribute ", name, " is \"", value, "\", expected one of ", known));
}

constexpr int64_t kMaxSize = int64_t{1} << 30;

absl::StatusOr<int64_t> CheckedSize(double size) {
  if (!(size >= 0 && size <= static_cast<double>(kMaxSize))) {
    return absl::InvalidArgumentError(
        absl::StrCat("an output dimension of ", size, " is outside [0, 2^30]"));
  }
  return static_cast<int64_t>(size);
}

// In float, as the standard's own shape inference multiplies: 10 * 0.7f is 7.
absl::StatusOr<int64_t> ScaledSize(int64_t input, float scale) {
  return CheckedSize(std::floor(static_cast<float>(input) * scale));
}

// The axes scales, sizes and roi talk about.
absl::StatusOr<std::vector<int>> ResizedAxes(const ResizeOptions& options, int rank) {
  if (!options.axes.empty()) return NormalizeAxes(options.axes, rank);
  std::vector<int> all(rank);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

absl::Status CheckCounts(const ResizeTargets& t, size_t axes) {
  if (t.scales.empty() == t.sizes.empty() && axes > 0) {
    return absl::InvalidArgumentError(t.scales.empty()
                                          ? "neither input scales nor input sizes is given"
                                          : "both scales and sizes are given, expected one");
  }
  if ((!t.scales.empty() && t.scales.size() != axes) ||
      (!t.sizes.empty() && t.sizes.size() != axes) ||
      (!t.roi.empty() && t.roi.size() != 2 * axes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("inputs scales, sizes and roi have ", t.scales.size(), ", ", t.sizes.size(),
                     " and ", t.roi.size(), " values for ", axes, " resized axes"));
  }
  for (const float s : t.scales) {
    if (!(s > 0) || !std::isfinite(s)) {
      return absl::InvalidArgumentError(
          absl::StrCat("input scales holds ", s, ", expected positive numbers"));
    }
  }
  for (const int64_t s : t.sizes) {
    if (s < 0 || s > kMaxSize) {
      return absl::InvalidArgumentError(
          absl::StrCat("input sizes holds ", s, ", expected values in [0, 2^30]"));
    }
  }
  return absl::OkStatus();
}

// The input coordinate output position o samples.
double Coordinate(const ResizeOptions& options, const ResizeAxis& axis, int64_t o) {
  const double x = static_cast<double>(o);
  const double last = static_cast<double>(axis.input - 1);
  switch (options.coordinates) {
    case CoordinateMode::kHalfPixel:
      return axis.Unscaled(x + 0.5) - 0.5;
    case CoordinateMode::kHalfPixelSymmetric:
      // Output centers lie around the input's center even where the output size was rounded. The
      // standard's sum, ordered so that positions halfway between pixels come out exactly.
      return axis.Unscaled(x + 0.5 - static_cast<double>(axis.output) / 2) + last / 2;
    case CoordinateMode::kPytorchHalfPixel:
      return axis.output > 1 ? axis.Unscaled(x + 0.5) - 0.5 : 0.0;
    case CoordinateMode::kAlignCorners:
      return axis.length == 1 ? 0.0 : x * last / (axis.length - 1);
    case CoordinateMode::kAsymmetric:
      return axis.Unscaled(x);
    case CoordinateMode::kTfHalfPixelForNn:
      // Batch and channels are not meant to move by half a pixel.
      return axis.scale == 1 ? x : axis.Unscaled(x + 0.5);
    case CoordinateMode::kTfCropAndResize: {
      const double extent = (axis.roi_end - axis.roi_start) * last;
      const double within = axis.length == 1 ? extent / 2 : x * extent / (axis.length - 1);
      return axis.roi_start * last + within;
    }
  }
  return x;
}

// Keys' cubic convolution kernel, https://doi.org/10.1109/TASSP.1981.1163711, equation 4.
double Cubic(double z, double a) {
  z = std::abs(z);
  if (z <= 1) return ((a + 2) * z - (a + 3)) * z * z + 1;
  if (z < 2) return ((a * z - 5 * a) * z + 8 * a) * z - 4 * a;
  return 0;
}

}  // namespace

absl::StatusOr<ResizeOptions> ReadResizeOptions(const Attributes& attributes) {
  ResizeOptions o;
  ASSIGN_OR_RETURN(o.mode, ReadEnum<ResizeMode>(attributes, "mode",
                                                {{"nearest", ResizeMode::kNearest},
                                                 {"linear", ResizeMode::kLinear},
                                                 {"cubic", ResizeMode::kCubic}}));
  ASSIGN_OR_RETURN(
      o.coordinates,
      ReadEnum<CoordinateMode>(attributes, "coordinate_transformation_mode",
                               {{"half_pixel", CoordinateMode::kHalfPixel},
                                {"half_pixel_symmetric", CoordinateMode::kHalfPixelSymmetric},
                                {"pytorch_half_pixel", CoordinateMode::kPytorchHalfPixel},
                                {"align_corners", CoordinateMode::kAlignCorners},
                                {"asymmetric", CoordinateMode::kAsymmetric},
                                {"tf_crop_and_resize", CoordinateMode::kTfCropAndResize},
                                {"tf_half_pixel_for_nn", CoordinateMode::kTfHalfPixelForNn}}));
  ASSIGN_OR_RETURN(o.nearest,
                   ReadEnum<NearestMode>(attributes, "nearest_mode",
                                         {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
                                          {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
                                          {"floor", NearestMode::kFloor},
                                          {"ceil", NearestMode::kCeil}}));
  ASSIGN_OR_RETURN(o.policy,
                   ReadEnum<AspectRatioPolicy>(attributes, "keep_aspect_ratio_policy",
                                               {{"stretch", AspectRatioPolicy::kStretch},
                                                {"not_larger", AspectRatioPolicy::kNotLarger},
                                                {"not_smaller", AspectRatioPolicy::kNotSmaller}}));
  o.antialias = attributes.GetInt("antialias", 0) != 0;
  o.exclude_outside = attributes.GetInt("exclude_outside", 0) != 0;
  o.cubic_a = attributes.GetFloat("cubic_coeff_a", -0.75f);
  o.extrapolation_value = attributes.GetFloat("extrapolation_value", 0.0f);
  o.axes = attributes.GetInts("axes");
  return o;
}

absl::StatusOr<std::vector<ResizeAxis>> ResolveResize(const ResizeOptions& options,
                                                      absl::Span<const int64_t> x,
                                                      const ResizeTargets& targets) {
  ASSIGN_OR_RETURN(const std::vector<int> axes, ResizedAxes(options, static_cast<int>(x.size())));
  RETURN_IF_ERROR(CheckCounts(targets, axes.size()));
  std::vector<ResizeAxis> result(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    result[i].input = x[i];
    result[i].output = x[i];
    result[i].length = static_cast<double>(x[i]);
  }
  // The one scale that keeps the aspect ratio.
  double common = 0;
  for (size_t i = 0; i < targets.sizes.size(); ++i) {
    const double scale = static_cast<double>(targets.sizes[i]) /
                         static_cast<double>(std::max<int64_t>(1, x[axes[i]]));
    const bool larger = options.policy == AspectRatioPolicy::kNotSmaller;
    common = i == 0 ? scale : larger ? std::max(common, scale) : std::min(common, scale);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = result[axes[i]];
    const double input = static_cast<double>(axis.input);
    if (!targets.scales.empty()) {
      axis.scale = targets.scales[i];
      axis.from_size = false;
      axis.length = axis.scale * input;
      ASSIGN_OR_RETURN(axis.output, ScaledSize(axis.input, targets.scales[i]));
    } else if (options.policy == AspectRatioPolicy::kStretch) {
      axis.output = targets.sizes[i];
      axis.length = static_cast<double>(axis.output);
      axis.scale = axis.input == 0 ? 1 : axis.length / input;
    } else {
      axis.scale = common;
      axis.from_size = false;
      axis.length = common * input;
      ASSIGN_OR_RETURN(axis.output, CheckedSize(std::floor(axis.length + 0.5)));
    }
    if (axis.input == 0 && axis.output > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axes[i], " has no elements to make ", axis.output, " of"));
    }
    if (!targets.roi.empty()) {
      axis.roi_start = targets.roi[i];
      axis.roi_end = targets.roi[axes.size() + i];
    }
  }
  return result;
}

absl::StatusOr<SymbolicShape> ResizedShape(const ResizeOptions& options, const SymbolicShape& x,
                                           const ResizeTargets& targets) {
  if (const auto concrete = x.concrete()) {
    ASSIGN_OR_RETURN(const auto axes, ResolveResize(options, concrete->dims(), targets));
    SymbolicShape y = x;
    for (int i = 0; i < y.rank(); ++i) y[i] = Dim(axes[i].output);
    return y;
  }
  ASSIGN_OR_RETURN(const std::vector<int> axes, ResizedAxes(options, x.rank()));
  RETURN_IF_ERROR(CheckCounts(targets, axes.size()));
  SymbolicShape y = x;
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = y[axes[i]];
    if (!targets.sizes.empty()) {
      dim = options.policy == AspectRatioPolicy::kStretch ? Dim(targets.sizes[i]) : Dim::Unknown();
    } else if (dim.known()) {
      ASSIGN_OR_RETURN(const int64_t size, ScaledSize(dim.value(), targets.scales[i]));
      dim = Dim(size);
    } else if (targets.scales[i] != 1) {
      dim = Dim::Unknown();
    }
  }
  return y;
}

bool Extrapolates(const ResizeOptions& options, const ResizeAxis& axis, int64_t o) {
  if (options.coordinates != CoordinateMode::kTfCropAndResize) return false;
  const double x = Coordinate(options, axis, o);
  return !(x >= 0 && x <= static_cast<double>(axis.input - 1));
}

int64_t NearestSource(const ResizeOptions& options, const ResizeAxis& axis, int64_t o) {
  const double x = std::clamp(Coordinate(options, axis, o), -1.0, static_cast<double>(axis.input));
  const double below = std::floor(x);
  const double fraction = x - below;
  bool up = false;
  switch (options.nearest) {
    case NearestMode::kRoundPreferFloor:
      up = fraction > 0.5;
      break;
    case NearestMode::kRoundPreferCeil:
      up = fraction >= 0.5;
      break;
    case NearestMode::kFloor:
      break;
    case NearestMode::kCeil:
      up = fraction > 0;
      break;
  }
  return std::clamp<int64_t>(static_cast<int64_t>(below) + up, 0, axis.input - 1);
}

std::vector<Tap> FilterTaps(const ResizeOptions& options, const ResizeAxis& axis, int64_t o) {
  // Beyond this far outside every tap is the edge anyhow.
  const double far = 4.0 * static_cast<double>(axis.input) + 4;
  const double x = std::clamp(Coordinate(options, axis, o), -far, far);
  const double below = std::floor(x);
  const double fraction = x - below;
  const bool cubic = options.mode == ResizeMode::kCubic;
  // When shrinking, an antialiasing filter is stretched to cover the input positions skipped.
  const double stretch = options.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const int64_t first = static_cast<int64_t>(std::floor((cubic ? -2 : -1) / stretch)) + 1;
  std::vector<Tap> taps;
  double sum = 0;
  for (int64_t i = first; i <= 1 - first; ++i) {
    const double z = (static_cast<double>(i) - fraction) * stretch;
    double weight = cubic ? Cubic(z, options.cubic_a) : std::max(0.0, 1 - std::abs(z));
    const int64_t source = static_cast<int64_t>(below) + i;
    const int64_t inside = std::clamp<int64_t>(source, 0, axis.input - 1);
    if (options.exclude_outside && inside != source) weight = 0;
    sum += weight;
    if (weight != 0) taps.push_back({inside, weight});
  }
  if ((options.antialias || options.exclude_outside) && sum != 0) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  if (taps.empty()) taps.push_back({0, 0.0});
  return taps;
}

}  // namespace inferd::engine
