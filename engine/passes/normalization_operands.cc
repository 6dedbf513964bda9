#include "engine/passes/normalization_operands.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {
namespace {

// The dimensions from `axis`, counted from the end, where all are known.
std::optional<Shape> NormalizedShape(const Value* x, int64_t axis) {
  const SymbolicShape& shape = x->type().shape;
  if (!shape.has_rank() || shape.rank() < -axis) return std::nullopt;
  Shape normalized;
  for (int i = shape.rank() + static_cast<int>(axis); i < shape.rank(); ++i) {
    if (!shape[i].known()) return std::nullopt;
    normalized.push_back(shape[i].value());
  }
  return normalized;
}

}  // namespace

int64_t TrailingAxis(const Node& mean) {
  if (mean.attributes().GetInt("keepdims", 1) == 0 || mean.input(1) == nullptr ||
      !mean.input(1)->is_constant()) {
    return 0;
  }
  auto axes = ToInt64Vector(mean.input(1)->constant().view());
  if (!axes.ok() || axes->empty()) return 0;
  const SymbolicShape& shape = mean.input(0)->type().shape;
  for (int64_t& axis : *axes) {
    if (axis < 0) continue;
    if (!shape.has_rank()) return 0;
    axis -= shape.rank();
  }
  std::sort(axes->begin(), axes->end());
  const int64_t count = static_cast<int64_t>(axes->size());
  for (int64_t i = 0; i < count; ++i) {
    if ((*axes)[i] != i - count) return 0;
  }
  return -count;
}

Pattern TrailingMean(const Pattern& x, absl::string_view name) {
  return Op("ReduceMean", {x, Constant(absl::StrCat(name, "_axes"))})
      .As(name)
      .Where([](const Node& node) { return TrailingAxis(node) != 0; });
}

Value* AsNormalizationParameter(Match& match, Value* value, const Value* x, int64_t axis) {
  const std::optional<Shape> wanted = NormalizedShape(x, axis);
  const std::optional<Shape> shape = value->type().shape.concrete();
  if (!wanted.has_value() || !shape.has_value()) return nullptr;
  const int extra = shape->rank() - wanted->rank();
  if (extra < 0 || shape->rank() > x->type().shape.rank()) return nullptr;
  for (int i = 0; i < shape->rank(); ++i) {
    if ((*shape)[i] != (i < extra ? 1 : (*wanted)[i - extra])) return nullptr;
  }
  if (extra == 0) return value;
  if (!value->is_constant()) return nullptr;
  return match.graph().AddConstant(value->name(), value->constant().Reshaped(*wanted));
}

Value* UnitScale(Match& match, const Value* x, ElementType type, int64_t axis) {
  const std::optional<Shape> shape = NormalizedShape(x, axis);
  // The dimension of a real layer; a constant of any size is not worth the node it saves.
  constexpr int64_t kLargest = int64_t{1} << 20;
  if (!shape.has_value() || type != ElementType::kFloat32) return nullptr;
  const auto elements = shape->CheckedNumElements();
  if (!elements.ok() || *elements > kLargest) return nullptr;
  return match.graph().AddConstant(
      "ones", Tensor::FromValues<float>(*shape, std::vector<float>(*elements, 1.0f)));
}

}  // namespace inferd::engine
