// Which scale and zero point belongs to which element of a linearly quantized tensor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/element_type.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

class InferenceContext;

// A dense tensor seen as [outer, axis, inner], its scales per tensor, per position of the axis, or
// per block of positions of the axis (then one for each outer and inner position).
struct ScaleLayout {
  enum class Kind : uint8_t { kTensor, kAxis, kBlocked };

  Kind kind = Kind::kTensor;
  int64_t axis = 1;
  int64_t inner = 1;
  int64_t block = 1;        // positions of the axis that share a scale
  int64_t blocks = 1;       // of the axis
  int64_t scale_count = 1;  // in all
};

// From the attributes axis and block_size. INVALID_ARGUMENT says what does not fit.
absl::StatusOr<ScaleLayout> ResolveScaleLayout(const Attributes& attributes, const Shape& x,
                                               const Shape& scale);

// For shape functions: the scale (input 1) against input 0 and the zero point (input 2, where
// present) against the scale, as far as they are known.
absl::Status CheckScaleInputs(const InferenceContext& context);

// The element type an optional attribute names, kUndefined where it is absent or 0.
// INVALID_ARGUMENT unless it is one of `allowed`.
absl::StatusOr<ElementType> TypeAttribute(const Attributes& attributes, absl::string_view name,
                                          ElementTypeSet allowed);

// Elements [0, count) of a numeric buffer, converted.
void LoadAsFloats(ElementType type, const void* source, int64_t count, float* target);

// Calls fn(first, count, scale, step) for runs that together cover elements [begin, end): element
// first + i has scale number scale + i * step, where step is 0 or 1.
template <typename Fn>
void ForEachScaleRun(const ScaleLayout& layout, int64_t begin, int64_t end, Fn&& fn) {
  using Kind = ScaleLayout::Kind;
  if (layout.kind == Kind::kTensor) {
    if (begin < end) fn(begin, end - begin, int64_t{0}, int64_t{0});
    return;
  }
  while (begin < end) {
    int64_t left;
    int64_t scale;
    int64_t step = 0;
    if (layout.inner == 1) {
      const int64_t position = begin % layout.axis;
      if (layout.kind == Kind::kAxis) {
        left = layout.axis - position;
        scale = position;
        step = 1;
      } else {
        left = std::min(layout.block - position % layout.block, layout.axis - position);
        scale = begin / layout.axis * layout.blocks + position / layout.block;
      }
    } else {
      const int64_t row = begin / layout.inner;
      const int64_t column = begin % layout.inner;
      left = layout.inner - column;
      if (layout.kind == Kind::kAxis) {
        scale = row % layout.axis;
      } else {
        scale =
            (row / layout.axis * layout.blocks + row % layout.axis / layout.block) * layout.inner +
            column;
        step = 1;
      }
    }
    const int64_t count = std::min(left, end - begin);
    fn(begin, count, scale, step);
    begin += count;
  }
}

}  // namespace inferd::engine
