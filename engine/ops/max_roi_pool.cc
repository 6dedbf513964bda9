// MaxRoiPool: the largest pixel of each bin of regions whose corners are rounded to whole pixels.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/region_pooling.h"
#include "engine/ops/sliding_window.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<std::vector<int64_t>> ReadPooledShape(const Attributes& attributes) {
  const std::vector<int64_t> pooled = attributes.GetInts("pooled_shape");
  if (pooled.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("attribute pooled_shape has ", pooled.size(),
                                                   " values, expected a height and a width"));
  }
  for (const int64_t size : pooled) RETURN_IF_ERROR(CheckPooledSize("pooled_shape", size));
  return pooled;
}

absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const auto pooled, ReadPooledShape(context.attributes()));
  ASSIGN_OR_RETURN(SymbolicShape y,
                   RegionPoolingShape(context, /*columns=*/5, pooled[0], pooled[1]));
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

// Pixels of bin b of `bins` between the corners begin and end, both included.
IndexRange BinPixels(double begin, double end, int64_t b, int64_t bins, int64_t size) {
  // Whole numbers, but of any size: corners are data.
  if (!std::isfinite(begin) || !std::isfinite(end)) return {};
  const double length = std::max(end - begin + 1, 1.0);
  const float bin = static_cast<float>(length) / static_cast<float>(bins);
  const double first = std::floor(static_cast<double>(static_cast<float>(b) * bin)) + begin;
  const double last = std::ceil(static_cast<double>(static_cast<float>(b + 1) * bin)) + begin;
  const double limit = static_cast<double>(size);
  return {static_cast<int64_t>(std::clamp(first, 0.0, limit)),
          static_cast<int64_t>(std::clamp(last, 0.0, limit))};
}

template <typename T>
class MaxRoiPoolKernel final : public Kernel {
 public:
  MaxRoiPoolKernel(const Shape& x, const Shape& y, float scale) : x_(x), y_(y), scale_(scale) {}

  absl::Status Run(KernelContext& context) const override {
    const T* rois = context.input(1).as<T>();
    for (int64_t r = 0; r < y_[0]; ++r) {
      const double image = static_cast<double>(static_cast<C>(rois[r * 5]));
      if (!(image >= 0 && image < static_cast<double>(x_[0]))) {
        return absl::InvalidArgumentError(
            absl::StrCat("input rois names image ", image, " for region ", r,
                         ", expected an index in [0,", x_[0] - 1, "]"));
      }
    }
    const T* x = context.input(0).as<T>();
    T* y = context.output(0).as<T>();
    context.threads().ParallelFor(y_[0] * y_[1], 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* roi = rois + p / y_[1] * 5;
        const int64_t image = static_cast<int64_t>(static_cast<C>(roi[0]));
        Pool(x + (image * x_[1] + p % y_[1]) * x_[2] * x_[3], roi, y + p * y_[2] * y_[3]);
      }
    });
    return absl::OkStatus();
  }

 private:
  using C = ComputeType<T>;

  void Pool(const T* plane, const T* roi, T* y) const {
    double corner[4];
    for (int i = 0; i < 4; ++i) {
      corner[i] =
          std::round(static_cast<double>(static_cast<C>(roi[i + 1]) * static_cast<C>(scale_)));
    }
    for (int64_t h = 0; h < y_[2]; ++h) {
      const IndexRange rows = BinPixels(corner[1], corner[3], h, y_[2], x_[2]);
      for (int64_t w = 0; w < y_[3]; ++w) {
        const IndexRange columns = BinPixels(corner[0], corner[2], w, y_[3], x_[3]);
        *y++ = Largest(plane, rows, columns);
      }
    }
  }

  // Zero for a bin without pixels.
  T Largest(const T* plane, IndexRange rows, IndexRange columns) const {
    if (rows.empty() || columns.empty()) return static_cast<T>(C{0});
    C best = static_cast<C>(plane[rows.begin * x_[3] + columns.begin]);
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        best = std::max(best, static_cast<C>(plane[i * x_[3] + j]));
      }
    }
    return static_cast<T>(best);
  }

  Shape x_;
  Shape y_;
  float scale_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  RETURN_IF_ERROR(CheckHasPixels(spec));
  const float scale = spec.attributes().GetFloat("spatial_scale", 1.0f);
  std::unique_ptr<Kernel> kernel;
  DispatchType<float, double, Float16, BFloat16>(spec.input(0).type, [&]<typename T>() {
    kernel =
        std::make_unique<MaxRoiPoolKernel<T>>(spec.input(0).shape, spec.output(0).shape, scale);
  });
  return kernel;
}

}  // namespace

void RegisterMaxRoiPoolOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "MaxRoiPool",
                     .version = 22,
                     .inputs = {{"X", "T", type_sets::kFloats}, {"rois", "T", type_sets::kFloats}},
                     .outputs = {{"Y", "T", type_sets::kFloats}},
                     .attributes = {{"pooled_shape", Kind::kInts, /*required=*/true},
                                    {"spatial_scale", Kind::kFloat}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
