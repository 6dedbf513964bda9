// RoiAlign: pools regions of a feature map, sampled bilinearly at real-valued positions
// (https://arxiv.org/abs/1703.06870).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/region_pooling.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Samples per bin and axis a model may ask for.
constexpr int64_t kMaxSamplingRatio = 1 << 16;

constexpr double kMaxExactPosition = 0x1p52;

struct Options {
  bool half_pixel = true;
  bool max = false;
  int64_t height = 1;
  int64_t width = 1;
  int64_t sampling_ratio = 0;
  float spatial_scale = 1;
};

absl::StatusOr<Options> ReadOptions(const Attributes& attributes) {
  Options o;
  const std::string coordinates =
      attributes.GetString("coordinate_transformation_mode", "half_pixel");
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    return absl::InvalidArgumentError(absl::StrCat("attribute coordinate_transformation_mode is \"",
                                                   coordinates,
                                                   "\", expected half_pixel or output_half_pixel"));
  }
  o.half_pixel = coordinates == "half_pixel";
  const std::string mode = attributes.GetString("mode", "avg");
  if (mode != "avg" && mode != "max") {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute mode is \"", mode, "\", expected avg or max"));
  }
  o.max = mode == "max";
  o.height = attributes.GetInt("output_height", 1);
  o.width = attributes.GetInt("output_width", 1);
  RETURN_IF_ERROR(CheckPooledSize("output_height", o.height));
  RETURN_IF_ERROR(CheckPooledSize("output_width", o.width));
  o.sampling_ratio = attributes.GetInt("sampling_ratio", 0);
  if (o.sampling_ratio < 0 || o.sampling_ratio > kMaxSamplingRatio) {
    return absl::InvalidArgumentError(absl::StrCat("attribute sampling_ratio is ", o.sampling_ratio,
                                                   ", expected a value in [0, ", kMaxSamplingRatio,
                                                   "]"));
  }
  o.spatial_scale = attributes.GetFloat("spatial_scale", 1.0f);
  return o;
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const Options options, ReadOptions(context.attributes()));
  RETURN_IF_ERROR(ExpectRank(context, 2, 1, 1));
  ASSIGN_OR_RETURN(SymbolicShape y,
                   RegionPoolingShape(context, /*columns=*/4, options.height, options.width));
  if (const SymbolicShape& images = context.shape(2); images.has_rank()) {
    absl::StatusOr<Dim> rois = MergeDims(y[0], images[0]);
    if (!rois.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input rois has ", y[0].ToString(),
                                                     " regions, batch_indices ",
                                                     images[0].ToString(), " elements"));
    }
    y[0] = *rois;
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

// One position on an axis, between two pixels.
struct Sample {
  int64_t low, high;
  double low_weight, high_weight;
};

// The samples of one axis of one region, those inside the image alone: bin b has
// samples[first[b]] up to samples[first[b + 1]], of `per_bin` it should have.
struct AxisSamples {
  std::vector<Sample> samples;
  std::vector<int64_t> first;
  double per_bin = 0;

  // C is the precision of the region's coordinates; the number of samples depends on it.
  template <typename C>
  void Resolve(C begin, C end, bool at_least_one, int64_t bins, int64_t ratio, int64_t size) {
    samples.clear();
    first.clear();
    C length = end - begin;
    if (at_least_one) length = std::max(length, C{1});
    const C bin = length / static_cast<C>(bins);
    per_bin = ratio > 0 ? static_cast<double>(ratio) : std::ceil(static_cast<double>(bin));
    // A region without extent has no samples; neither has one at infinity.
    if (!(per_bin >= 1) || !std::isfinite(per_bin)) per_bin = 0;
    for (int64_t b = 0; b < bins; ++b) {
      first.push_back(static_cast<int64_t>(samples.size()));
      const double start = static_cast<double>(begin + static_cast<C>(b) * bin);
      const double step = static_cast<double>(bin) / per_bin;
      if (per_bin == 0 || !std::isfinite(start)) continue;
      // However large the region, only the part near the image is walked.
      double i = 0, last = per_bin - 1;
      if (step > 0) {
        i = std::max(i, std::floor((-1 - start) / step) - 1);
        last = std::min(last, std::ceil((static_cast<double>(size) - start) / step) + 1);
      }
      // Where doubles no longer tell neighbours apart there is no position to speak of.
      if (last > kMaxExactPosition) continue;
      for (; i <= last; ++i) Add(start + (i + 0.5) * step, size);
    }
    first.push_back(static_cast<int64_t>(samples.size()));
  }

  void Add(double x, int64_t size) {
    if (x < -1 || x > static_cast<double>(size)) return;
    x = std::max(x, 0.0);
    const int64_t low = std::min(static_cast<int64_t>(x), size - 1);
    const int64_t high = std::min(low + 1, size - 1);
    const double fraction = high == low ? 0 : x - static_cast<double>(low);
    samples.push_back({low, high, 1 - fraction, fraction});
  }
};

template <typename T>
class RoiAlignKernel final : public Kernel {
 public:
  RoiAlignKernel(const Options& options, const Shape& x, int64_t regions)
      : options_(options), x_(x), regions_(regions) {}

  absl::Status Run(KernelContext& context) const override {
    const int64_t* images = context.input(2).as<int64_t>();
    for (int64_t r = 0; r < regions_; ++r) {
      if (images[r] < 0 || images[r] >= x_[0]) {
        return absl::InvalidArgumentError(absl::StrCat("element ", r, " of input batch_indices is ",
                                                       images[r], ", expected an index in [0,",
                                                       x_[0] - 1, "]"));
      }
    }
    const int64_t region_elements = x_[1] * options_.height * options_.width;
    context.threads().ParallelFor(regions_, 1, [&](int64_t begin, int64_t end) {
      // How many samples there are is known from the regions alone.
      AxisSamples rows, columns;
      for (int64_t r = begin; r < end; ++r) {
        Locate(context.input(1).as<T>() + r * 4, rows, columns);
        Pool(context.input(0).as<T>() + images[r] * x_[1] * x_[2] * x_[3], rows, columns,
             context.output(0).as<T>() + r * region_elements);
      }
    });
    return absl::OkStatus();
  }

 private:
  using C = ComputeType<T>;

  void Locate(const T* roi, AxisSamples& rows, AxisSamples& columns) const {
    const C scale = static_cast<C>(options_.spatial_scale);
    const C offset = options_.half_pixel ? C{0.5} : C{0};
    C edge[4];
    for (int i = 0; i < 4; ++i) edge[i] = static_cast<C>(roi[i]) * scale - offset;
    const bool at_least_one = !options_.half_pixel;
    rows.Resolve<C>(edge[1], edge[3], at_least_one, options_.height, options_.sampling_ratio,
                    x_[2]);
    columns.Resolve<C>(edge[0], edge[2], at_least_one, options_.width, options_.sampling_ratio,
                       x_[3]);
  }

  void Pool(const T* image, const AxisSamples& rows, const AxisSamples& columns, T* y) const {
    for (int64_t c = 0; c < x_[1]; ++c) {
      const T* plane = image + c * x_[2] * x_[3];
      for (int64_t h = 0; h < options_.height; ++h) {
        for (int64_t w = 0; w < options_.width; ++w) {
          const double v = options_.max ? Largest(plane, rows, columns, h, w)
                                        : Average(plane, rows, columns, h, w);
          *y++ = static_cast<T>(static_cast<C>(v));
        }
      }
    }
  }

  double Average(const T* plane, const AxisSamples& rows, const AxisSamples& columns, int64_t h,
                 int64_t w) const {
    double sum = 0;
    for (int64_t i = rows.first[h]; i < rows.first[h + 1]; ++i) {
      const Sample& row = rows.samples[i];
      const T* above = plane + row.low * x_[3];
      const T* below = plane + row.high * x_[3];
      double upper = 0, lower = 0;
      for (int64_t j = columns.first[w]; j < columns.first[w + 1]; ++j) {
        const Sample& s = columns.samples[j];
        upper += s.low_weight * static_cast<C>(above[s.low]) +
                 s.high_weight * static_cast<C>(above[s.high]);
        lower += s.low_weight * static_cast<C>(below[s.low]) +
                 s.high_weight * static_cast<C>(below[s.high]);
      }
      sum += row.low_weight * upper + row.high_weight * lower;
    }
    return sum / std::max(1.0, rows.per_bin * columns.per_bin);
  }

  // As the standard's reference has it: the largest of the four weighted pixels around each
  // sample, not the largest interpolated value. A sample outside the image counts as zero.
  double Largest(const T* plane, const AxisSamples& rows, const AxisSamples& columns, int64_t h,
                 int64_t w) const {
    const int64_t tall = rows.first[h + 1] - rows.first[h];
    const int64_t wide = columns.first[w + 1] - columns.first[w];
    bool any =
        static_cast<double>(tall) * static_cast<double>(wide) < rows.per_bin * columns.per_bin;
    double largest = 0;
    for (int64_t i = rows.first[h]; i < rows.first[h + 1]; ++i) {
      const Sample& row = rows.samples[i];
      const T* above = plane + row.low * x_[3];
      const T* below = plane + row.high * x_[3];
      for (int64_t j = columns.first[w]; j < columns.first[w + 1]; ++j) {
        const Sample& s = columns.samples[j];
        const double v =
            std::max({row.low_weight * s.low_weight * static_cast<C>(above[s.low]),
                      row.low_weight * s.high_weight * static_cast<C>(above[s.high]),
                      row.high_weight * s.low_weight * static_cast<C>(below[s.low]),
                      row.high_weight * s.high_weight * static_cast<C>(below[s.high])});
        largest = any ? std::max(largest, v) : v;
        any = true;
      }
    }
    return largest;
  }

  Options options_;
  Shape x_;
  int64_t regions_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const Options options, ReadOptions(spec.attributes()));
  const Shape& x = spec.input(0).shape;
  RETURN_IF_ERROR(CheckHasPixels(spec));
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    kernel = std::make_unique<RoiAlignKernel<T>>(options, x, spec.output(0).shape[0]);
  });
  return kernel;
}

}  // namespace

void RegisterRoiAlignOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "RoiAlign",
                     .version = 22,
                     .oldest_version = 10,
                     .inputs = {{"X", "T1", type_sets::kFloats},
                                {"rois", "T1", type_sets::kFloats},
                                {"batch_indices", "", {ElementType::kInt64}}},
                     .outputs = {{"Y", "T1", type_sets::kFloats}},
                     .attributes = {{"coordinate_transformation_mode", Kind::kString},
                                    {"mode", Kind::kString},
                                    {"output_height", Kind::kInt},
                                    {"output_width", Kind::kInt},
                                    {"sampling_ratio", Kind::kInt},
                                    {"spatial_scale", Kind::kFloat}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
