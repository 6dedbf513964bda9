// Slice: a range with a step on some axes, out-of-range bounds clamped.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/ops/strided_copy.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

struct Range {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
};

Range ClampRange(int64_t dim, int64_t start, int64_t end, int64_t step) {
  // Longer steps reach no further element, and shorter ones cannot overflow.
  const int64_t longest = std::max<int64_t>(1, dim);
  step = std::clamp(step, -longest, longest);
  if (dim == 0) return {0, step, 0};
  const auto clamp = [&](int64_t v, int64_t low) {
    return std::clamp(v < 0 ? v + dim : v, low, step > 0 ? dim : dim - 1);
  };
  Range r{clamp(start, 0), step, 0};
  const int64_t stop = clamp(end, step > 0 ? 0 : -1);
  const int64_t distance = step > 0 ? stop - r.start : r.start - stop;
  const int64_t stride = std::abs(step);
  r.count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return r;
}

// The four inputs, axes normalized and steps filled in.
struct Bounds {
  std::vector<int64_t> starts, ends, steps;
  std::vector<int> axes;
};

absl::StatusOr<Bounds> MakeBounds(std::vector<int64_t> starts, std::vector<int64_t> ends,
                                  std::optional<std::vector<int64_t>> axes,
                                  std::optional<std::vector<int64_t>> steps, int rank) {
  if (!axes.has_value()) {
    axes.emplace(starts.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!steps.has_value()) steps.emplace(starts.size(), 1);
  if (ends.size() != starts.size() || axes->size() != starts.size() ||
      steps->size() != starts.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("starts, ends, axes and steps have ", starts.size(), ", ", ends.size(), ", ",
                     axes->size(), " and ", steps->size(), " values, expected equal counts"));
  }
  for (const int64_t s : *steps) {
    if (s == 0) return absl::InvalidArgumentError("input steps holds 0");
  }
  Bounds b{std::move(starts), std::move(ends), *std::move(steps), {}};
  ASSIGN_OR_RETURN(b.axes, NormalizeAxes(*axes, rank));
  return b;
}

absl::Status Infer(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  if (!x.has_rank()) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(auto starts, ConstantInts(context, 1));
  ASSIGN_OR_RETURN(auto ends, ConstantInts(context, 2));
  ASSIGN_OR_RETURN(auto axes, ConstantInts(context, 3));
  ASSIGN_OR_RETURN(auto steps, ConstantInts(context, 4));
  SymbolicShape y = x;
  if ((context.has_input(3) && !axes.has_value()) ||
      (!context.has_input(3) && !starts.has_value() && !KnownCount(context, 1).has_value())) {
    context.SetOutput(0, type, SymbolicShape::OfRank(x.rank()));
    return absl::OkStatus();
  }
  if (!starts.has_value() || !ends.has_value() || (context.has_input(4) && !steps.has_value())) {
    // The axes are known, but not their ranges.
    if (!axes.has_value()) {
      const int64_t count =
          starts.has_value() ? static_cast<int64_t>(starts->size()) : *KnownCount(context, 1);
      axes.emplace(std::min<int64_t>(count, x.rank()));
      std::iota(axes->begin(), axes->end(), 0);
    }
    ASSIGN_OR_RETURN(const std::vector<int> touched, NormalizeAxes(*axes, x.rank()));
    for (const int axis : touched) y[axis] = Dim::Unknown();
    context.SetOutput(0, type, std::move(y));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Bounds b, MakeBounds(*std::move(starts), *std::move(ends), std::move(axes),
                                              std::move(steps), x.rank()));
  for (size_t i = 0; i < b.axes.size(); ++i) {
    Dim& dim = y[b.axes[i]];
    if (dim.known()) {
      dim = Dim(ClampRange(dim.value(), b.starts[i], b.ends[i], b.steps[i]).count);
    } else if (b.starts[i] != 0 || b.steps[i] != 1 ||
               b.ends[i] < std::numeric_limits<int32_t>::max()) {
      dim = Dim::Unknown();
    }
  }
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  ASSIGN_OR_RETURN(std::vector<int64_t> starts, PlannedInts(spec, 1));
  ASSIGN_OR_RETURN(std::vector<int64_t> ends, PlannedInts(spec, 2));
  std::optional<std::vector<int64_t>> axes, steps;
  if (spec.has_input(3)) {
    ASSIGN_OR_RETURN(axes, PlannedInts(spec, 3));
  }
  if (spec.has_input(4)) {
    ASSIGN_OR_RETURN(steps, PlannedInts(spec, 4));
  }
  ASSIGN_OR_RETURN(const Bounds b, MakeBounds(std::move(starts), std::move(ends), std::move(axes),
                                              std::move(steps), x.rank()));
  Shape y = x;
  auto strides = RowMajorStrides(x);
  int64_t offset = 0;
  for (size_t i = 0; i < b.axes.size(); ++i) {
    const int axis = b.axes[i];
    const Range r = ClampRange(x[axis], b.starts[i], b.ends[i], b.steps[i]);
    y[axis] = r.count;
    if (r.count > 0) offset += r.start * strides[axis];
    strides[axis] *= r.step;
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  return MakeStridedCopyKernel(spec.input(0).type,
                               {.dims = y.dims(), .strides = strides, .offset = offset});
}

}  // namespace

void RegisterSliceOps(OpRegistry& registry) {
  constexpr ElementTypeSet kIndices = {ElementType::kInt32, ElementType::kInt64};
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  registry.Register({.name = "Slice",
                     .version = 13,
                     .inputs = {{"data", "T", type_sets::kMovable},
                                {"starts", "Tind", kIndices},
                                {"ends", "Tind", kIndices},
                                {"axes", "Tind", kIndices, kOptional},
                                {"steps", "Tind", kIndices, kOptional}},
                     .outputs = {{"output", "T", type_sets::kMovable}},
                     .infer = Infer,
                     .reference = Reference,
                     .shape_inputs = {1, 2, 3, 4}});
}

}  // namespace inferd::engine
