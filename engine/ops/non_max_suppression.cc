// NonMaxSuppression: the best boxes of each class, without those that overlap a better one. How
// many are left is known at run time only.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr int kBoxes = 0;
constexpr int kScores = 1;
constexpr int kMaxPerClass = 2;
constexpr int kOverlap = 3;
constexpr int kThreshold = 4;

// [batches, boxes, 4] and [batches, classes, boxes].
absl::Status CheckShapes(const SymbolicShape& boxes, const SymbolicShape& scores) {
  if (boxes.has_rank() && boxes[2].known() && boxes[2].value() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("input boxes has shape ", boxes.ToString(), ", expected four coordinates"));
  }
  if (boxes.has_rank() && scores.has_rank() &&
      (!MergeDims(boxes[0], scores[0]).ok() || !MergeDims(boxes[1], scores[2]).ok())) {
    return absl::InvalidArgumentError(
        absl::StrCat("input boxes has shape ", boxes.ToString(), " and scores ", scores.ToString(),
                     ", expected equal batch sizes and a score for each box"));
  }
  return absl::OkStatus();
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, kBoxes, 3, 3));
  RETURN_IF_ERROR(ExpectRank(context, kScores, 3, 3));
  for (const int i : {kMaxPerClass, kOverlap, kThreshold}) {
    if (context.has_input(i)) RETURN_IF_ERROR(ExpectScalar(context, i));
  }
  RETURN_IF_ERROR(CheckShapes(context.shape(kBoxes), context.shape(kScores)));
  const int64_t format = context.attributes().GetInt("center_point_box", 0);
  if (format != 0 && format != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute center_point_box is ", format, ", expected 0 or 1"));
  }
  context.SetOutput(0, ElementType::kInt64, SymbolicShape({Dim::Unknown(), Dim(3)}));
  return absl::OkStatus();
}

struct Box {
  float left, top, right, bottom;
  float area() const { return (right - left) * (bottom - top); }
};

Box ReadBox(const float* v, bool center_point) {
  if (center_point) {
    const float half_width = v[2] / 2, half_height = v[3] / 2;
    return {v[0] - half_width, v[1] - half_height, v[0] + half_width, v[1] + half_height};
  }
  // Any two opposite corners.
  return {std::min(v[1], v[3]), std::min(v[0], v[2]), std::max(v[1], v[3]), std::max(v[0], v[2])};
}

// Whether intersection over union exceeds the threshold. Boxes without area overlap nothing.
bool Overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return false;
  const float intersection = width * height;
  const float a_area = a.area(), b_area = b.area();
  const float union_area = a_area + b_area - intersection;
  if (!(intersection > 0 && a_area > 0 && b_area > 0 && union_area > 0)) return false;
  return intersection / union_area > threshold;
}

struct Limits {
  int64_t max_per_class = 0;
  float overlap = 0;
  std::optional<float> threshold;
};

absl::StatusOr<Limits> ReadLimits(const KernelContext& context) {
  Limits limits;
  if (context.has_input(kMaxPerClass)) {
    limits.max_per_class = context.input(kMaxPerClass).as<int64_t>()[0];
  }
  if (context.has_input(kOverlap)) limits.overlap = context.input(kOverlap).as<float>()[0];
  if (!(limits.overlap >= 0 && limits.overlap <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input iou_threshold is ", limits.overlap, ", expected a value in [0, 1]"));
  }
  if (context.has_input(kThreshold)) limits.threshold = context.input(kThreshold).as<float>()[0];
  return limits;
}

// The boxes kept of one class, best first; equal scores in the order of their indices.
std::vector<int64_t> Select(const float* boxes, const float* scores, int64_t count,
                            bool center_point, const Limits& limits) {
  std::vector<int64_t> heap;
  for (int64_t i = 0; i < count; ++i) {
    if (!limits.threshold.has_value() || scores[i] > *limits.threshold) heap.push_back(i);
  }
  // A total order: NaN is worse than any score.
  const auto worse = [scores](int64_t a, int64_t b) {
    const bool a_nan = std::isnan(scores[a]), b_nan = std::isnan(scores[b]);
    if (a_nan != b_nan) return a_nan;
    if (!a_nan && scores[a] != scores[b]) return scores[a] < scores[b];
    return a > b;
  };
  // Mostly few of many are asked for, so that a heap beats sorting.
  std::make_heap(heap.begin(), heap.end(), worse);
  std::vector<int64_t> selected;
  std::vector<Box> kept;
  while (!heap.empty() && static_cast<int64_t>(selected.size()) < limits.max_per_class) {
    std::pop_heap(heap.begin(), heap.end(), worse);
    const int64_t candidate = heap.back();
    heap.pop_back();
    const Box box = ReadBox(boxes + candidate * 4, center_point);
    const bool overlaps = std::any_of(kept.begin(), kept.end(), [&](const Box& better) {
      return Overlaps(box, better, limits.overlap);
    });
    if (overlaps) continue;
    selected.push_back(candidate);
    kept.push_back(box);
  }
  return selected;
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& scores = spec.input(kScores).shape;
  const int64_t classes = scores[1], boxes = scores[2], lists = scores[0] * classes;
  const bool center_point = spec.attributes().GetInt("center_point_box", 0) != 0;
  return MakeKernel([=](KernelContext& context) -> absl::Status {
    ASSIGN_OR_RETURN(const Limits limits, ReadLimits(context));
    const float* box = context.input(kBoxes).as<float>();
    const float* score = context.input(kScores).as<float>();
    std::vector<std::vector<int64_t>> selected(limits.max_per_class > 0 ? lists : 0);
    context.threads().ParallelFor(
        static_cast<int64_t>(selected.size()), 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            selected[i] = Select(box + i / classes * boxes * 4, score + i * boxes, boxes,
                                 center_point, limits);
          }
        });
    int64_t count = 0;
    for (const auto& list : selected) count += static_cast<int64_t>(list.size());
    ASSIGN_OR_RETURN(const TensorView output, context.AllocateOutput(0, Shape{count, 3}));
    int64_t* y = output.as<int64_t>();
    for (int64_t i = 0; i < static_cast<int64_t>(selected.size()); ++i) {
      for (const int64_t index : selected[i]) {
        *y++ = i / classes;
        *y++ = i % classes;
        *y++ = index;
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterNonMaxSuppressionOps(OpRegistry& registry) {
  constexpr auto kOptional = FormalParameter::Option::kOptional;
  constexpr ElementTypeSet kFloat = {ElementType::kFloat32};
  constexpr ElementTypeSet kInt = {ElementType::kInt64};
  registry.Register({.name = "NonMaxSuppression",
                     .version = 11,
                     .oldest_version = 10,
                     .inputs = {{"boxes", "", kFloat},
                                {"scores", "", kFloat},
                                {"max_output_boxes_per_class", "", kInt, kOptional},
                                {"iou_threshold", "", kFloat, kOptional},
                                {"score_threshold", "", kFloat, kOptional}},
                     .outputs = {{"selected_indices", "", kInt}},
                     .attributes = {{"center_point_box", AttributeSpec::Kind::kInt}},
                     .infer = Infer,
                     .reference = Reference,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
