#include "engine/ops/scale_layout.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "engine/ops/element_conversion.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<int> QuantizedAxis(const Attributes& attributes, int rank) {
  // A vector has one axis, whatever the attribute says: its default names the second.
  if (rank == 1) return 0;
  const int64_t axis = attributes.GetInt("axis", 1);
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute axis is ", axis, ", expected a value in [", -rank, ", ", rank, ")"));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::Status WrongScale(const Shape& x, const Shape& scale, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("scale has shape ", scale.ToString(),
                                                 " for input 0 of shape ", x.ToString(),
                                                 ", expected ", expected));
}

}  // namespace

absl::StatusOr<ScaleLayout> ResolveScaleLayout(const Attributes& attributes, const Shape& x,
                                               const Shape& scale) {
  const int64_t block = attributes.GetInt("block_size", 0);
  if (block < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute block_size is ", block, ", expected 0 or more"));
  }
  ScaleLayout layout;
  if (scale.rank() == 0 || (block == 0 && scale.rank() == 1 && scale[0] == 1)) return layout;
  if (x.rank() == 0) return WrongScale(x, scale, "a scalar");
  ASSIGN_OR_RETURN(const int axis, QuantizedAxis(attributes, x.rank()));
  layout.axis = x[axis];
  layout.inner = x.Product(axis + 1, x.rank());
  if (block == 0) {
    if (scale.rank() != 1 || scale[0] != layout.axis) {
      return WrongScale(x, scale,
                        absl::StrCat("a scalar or a vector of ", layout.axis,
                                     " (block_size, which blocks need, is not set)"));
    }
    layout.kind = ScaleLayout::Kind::kAxis;
    layout.scale_count = layout.axis;
    return layout;
  }
  Shape expected = x;
  expected[axis] = x[axis] / block + (x[axis] % block != 0 ? 1 : 0);
  if (scale != expected) {
    return WrongScale(
        x, scale, absl::StrCat(expected.ToString(), " for block_size ", block, " on axis ", axis));
  }
  layout.kind = ScaleLayout::Kind::kBlocked;
  layout.block = block;
  layout.blocks = expected[axis];
  layout.scale_count = expected.NumElements();
  return layout;
}

absl::Status CheckScaleInputs(const InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  const SymbolicShape& scale = context.shape(1);
  const std::optional<Shape> known_x = x.has_rank() ? x.concrete() : std::nullopt;
  const std::optional<Shape> known_scale = scale.has_rank() ? scale.concrete() : std::nullopt;
  if (known_x.has_value() && known_scale.has_value()) {
    RETURN_IF_ERROR(ResolveScaleLayout(context.attributes(), *known_x, *known_scale).status());
  }
  if (!context.has_input(2) || !known_scale.has_value() || !context.shape(2).has_rank()) {
    return absl::OkStatus();
  }
  const std::optional<Shape> zero_point = context.shape(2).concrete();
  // Exporters write one element as a scalar here and as a vector there.
  if (zero_point.has_value() && *zero_point != *known_scale &&
      !(zero_point->rank() <= 1 && known_scale->rank() <= 1 && zero_point->NumElements() == 1 &&
        known_scale->NumElements() == 1)) {
    return absl::InvalidArgumentError(absl::StrCat("zero point has shape ", zero_point->ToString(),
                                                   ", expected the scale's, ",
                                                   known_scale->ToString()));
  }
  return absl::OkStatus();
}

absl::StatusOr<ElementType> TypeAttribute(const Attributes& attributes, absl::string_view name,
                                          ElementTypeSet allowed) {
  const int64_t code = attributes.GetInt(name, 0);
  if (code == 0) return ElementType::kUndefined;
  const std::optional<ElementType> type = code > 0 && code <= INT32_MAX
                                              ? ElementTypeFromOnnx(static_cast<int32_t>(code))
                                              : std::nullopt;
  if (!type.has_value() || !allowed.contains(*type)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute ", name, " is ", code, ", expected the number of one of ", allowed.ToString()));
  }
  return *type;
}

void LoadAsFloats(ElementType type, const void* source, int64_t count, float* target) {
  if (type == ElementType::kFloat32) {
    std::copy_n(static_cast<const float*>(source), count, target);
    return;
  }
  const LoadFn load = ElementLoader(type);
  const bool is_float = WideTypeOf(type) == WideType::kFloat;
  WideBlock block;
  for (int64_t first = 0; first < count; first += kConversionBlock) {
    const int64_t n = std::min(kConversionBlock, count - first);
    load(source, first, n, block);
    for (int64_t i = 0; i < n; ++i) {
      target[first + i] = is_float ? block.f[i] : static_cast<float>(block.i[i]);
    }
  }
}

}  // namespace inferd::engine
