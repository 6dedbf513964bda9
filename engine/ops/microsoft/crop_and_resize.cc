// com.microsoft.CropAndResize: boxes cut from images and resized to one size, corners aligned.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kX, kRois, kBatchIndices, kCropSize };

absl::StatusOr<bool> IsNearest(const Attributes& attributes) {
  const std::string mode = attributes.GetString("mode", "bilinear");
  if (mode == "bilinear" || mode == "nearest") return mode == "nearest";
  return absl::InvalidArgumentError(
      absl::StrCat("attribute mode is \"", mode, "\", expected bilinear or nearest"));
}

absl::Status CheckCropSize(const std::vector<int64_t>& size) {
  if (size.size() == 2 && size[0] > 0 && size[1] > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("input 3 (crop_size) must hold a positive height and width");
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(IsNearest(context.attributes()).status());
  RETURN_IF_ERROR(ExpectRank(context, kX, 4, 4));
  RETURN_IF_ERROR(ExpectRank(context, kRois, 2, 2));
  RETURN_IF_ERROR(ExpectRank(context, kBatchIndices, 1, 1));
  std::vector<Dim> dims(4);
  if (context.shape(kRois).has_rank()) {
    const SymbolicShape& rois = context.shape(kRois);
    if (rois[1].known() && rois[1].value() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("input 1 (rois) has shape ", rois.ToString(), ", expected [?,4]"));
    }
    dims[0] = rois[0];
  }
  if (context.shape(kX).has_rank()) dims[1] = context.shape(kX)[1];
  ASSIGN_OR_RETURN(const auto size, ConstantInts(context, kCropSize));
  if (size.has_value()) {
    RETURN_IF_ERROR(CheckCropSize(*size));
    dims[2] = (*size)[0];
    dims[3] = (*size)[1];
  }
  context.SetOutput(0, context.element_type(kX), SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

// Where the `count` samples between two normalized borders lie, in pixels.
struct Samples {
  float first, step;
  float at(int64_t i) const { return first + static_cast<float>(i) * step; }
};
Samples SamplesOf(float low, float high, int64_t size, int64_t count) {
  const auto last = static_cast<float>(size - 1);
  if (count == 1) return {0.5f * (low + high) * last, 0};
  return {low * last, (high - low) * last / static_cast<float>(count - 1)};
}

struct Geometry {
  int64_t boxes, batch, channels, height, width, crop_height, crop_width;
  bool nearest;
  float outside;
};

// The value of a plane at a fractional position.
float Sample(const Geometry& g, const float* plane, float y, float x) {
  // Comparisons that are false for NaN keep such positions outside as well.
  if (!(y >= 0 && y <= static_cast<float>(g.height - 1)) ||
      !(x >= 0 && x <= static_cast<float>(g.width - 1))) {
    return g.outside;
  }
  if (g.nearest) {
    return plane[static_cast<int64_t>(std::round(y)) * g.width +
                 static_cast<int64_t>(std::round(x))];
  }
  const auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  const int64_t bottom = std::min(top + 1, g.height - 1), right = std::min(left + 1, g.width - 1);
  const float fy = y - static_cast<float>(top), fx = x - static_cast<float>(left);
  const float *upper = plane + top * g.width, *lower = plane + bottom * g.width;
  const float a = upper[left] + (upper[right] - upper[left]) * fx;
  const float b = lower[left] + (lower[right] - lower[left]) * fx;
  return a + (b - a) * fy;
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(kX).shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> size, PlannedInts(spec, kCropSize));
  RETURN_IF_ERROR(CheckCropSize(size));
  ASSIGN_OR_RETURN(const bool nearest, IsNearest(spec.attributes()));
  const Geometry g = {spec.input(kRois).shape[0],
                      x[0],
                      x[1],
                      x[2],
                      x[3],
                      size[0],
                      size[1],
                      nearest,
                      spec.attributes().GetFloat("extrapolation_value", 0.0f)};
  if (spec.input(kBatchIndices).shape.NumElements() != g.boxes) {
    return absl::InvalidArgumentError(absl::StrCat("input 2 (batch_indices) has shape ",
                                                   spec.input(kBatchIndices).shape.ToString(),
                                                   ", expected [", g.boxes, "]"));
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, Shape{g.boxes, x[1], size[0], size[1]}));
  return MakeKernel([g](KernelContext& context) -> absl::Status {
    const int32_t* images = context.input(kBatchIndices).as<int32_t>();
    for (int64_t i = 0; i < g.boxes; ++i) {
      if (images[i] < 0 || images[i] >= g.batch) {
        return absl::InvalidArgumentError(absl::StrCat("batch_indices[", i, "] is ", images[i],
                                                       ", expected an image below ", g.batch));
      }
    }
    const int64_t crop = g.crop_height * g.crop_width;
    context.threads().ParallelFor(g.boxes * g.channels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t box = i / g.channels;
        const float* roi = context.input(kRois).as<float>() + box * 4;
        const float* plane = context.input(kX).as<float>() +
                             (images[box] * g.channels + i % g.channels) * g.height * g.width;
        float* y = context.output(0).as<float>() + i * crop;
        const Samples rows = SamplesOf(roi[0], roi[2], g.height, g.crop_height);
        const Samples columns = SamplesOf(roi[1], roi[3], g.width, g.crop_width);
        for (int64_t r = 0; r < g.crop_height; ++r) {
          for (int64_t c = 0; c < g.crop_width; ++c) {
            *y++ = Sample(g, plane, rows.at(r), columns.at(c));
          }
        }
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterCropAndResizeOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32}, kInt = {ElementType::kInt32};
  registry.Register(
      {.domain = "com.microsoft",
       .name = "CropAndResize",
       .inputs = {RequiredParameter("X", "T1", kFloat), RequiredParameter("rois", "T1", kFloat),
                  RequiredParameter("batch_indices", "", kInt),
                  RequiredParameter("crop_size", "", kInt)},
       .outputs = {RequiredParameter("Y", "T1", kFloat)},
       .attributes = {{"extrapolation_value", Kind::kFloat}, {"mode", Kind::kString}},
       .infer = Infer,
       .reference = Reference,
       .shape_inputs = {kCropSize}});
}

}  // namespace inferd::engine
