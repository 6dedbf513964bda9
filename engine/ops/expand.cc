// Expand and Tile: a tensor repeated, by broadcast or end to end.
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

absl::Status InferExpand(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  ASSIGN_OR_RETURN(const auto target, ConstantInts(context, 1));
  if (!target.has_value()) {
    const std::optional<int64_t> rank = KnownCount(context, 1);
    context.SetOutput(0, type,
                      rank.has_value() && *rank <= 64 && x.has_rank()
                          ? SymbolicShape::OfRank(std::max(x.rank(), static_cast<int>(*rank)))
                          : SymbolicShape());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const SymbolicShape shape, ShapeFromValues(*target));
  ASSIGN_OR_RETURN(SymbolicShape y, BroadcastSymbolicShapes(x, shape));
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceExpand(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const Shape& y = spec.output(0).shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> target, PlannedInts(spec, 1));
  ASSIGN_OR_RETURN(const Shape expected, BroadcastShapes(x, Shape(target)));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, expected));
  const auto x_strides = RowMajorStrides(x);
  std::vector<int64_t> strides(y.rank(), 0);
  const int shift = y.rank() - x.rank();
  for (int i = 0; i < x.rank(); ++i) {
    if (x[i] != 1) strides[i + shift] = x_strides[i];
  }
  return MakeStridedCopyKernel(spec.input(0).type, {.dims = y.dims(), .strides = strides});
}

absl::StatusOr<Dim> TiledDim(const Dim& dim, int64_t repeats) {
  if (repeats < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input repeats holds ", repeats, ", expected values >= 0"));
  }
  if (repeats == 0) return Dim(0);
  if (!dim.known()) return repeats == 1 ? dim : Dim::Unknown();
  int64_t product;
  if (__builtin_mul_overflow(dim.value(), repeats, &product)) {
    return absl::InvalidArgumentError(
        absl::StrCat(repeats, " repeats of a dimension of ", dim.value(), " overflow"));
  }
  return Dim(product);
}

absl::Status CheckRepeats(size_t count, int rank) {
  if (static_cast<int>(count) == rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input repeats has ", count, " values, expected ", rank, ", one per axis"));
}

absl::Status InferTile(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  ASSIGN_OR_RETURN(const auto repeats, ConstantInts(context, 1));
  if (!x.has_rank() || !repeats.has_value()) {
    context.SetOutput(0, type, x.has_rank() ? SymbolicShape::OfRank(x.rank()) : SymbolicShape());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckRepeats(repeats->size(), x.rank()));
  SymbolicShape y = x;
  for (int i = 0; i < x.rank(); ++i) {
    ASSIGN_OR_RETURN(y[i], TiledDim(x[i], (*repeats)[i]));
  }
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceTile(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, PlannedInts(spec, 1));
  RETURN_IF_ERROR(CheckRepeats(repeats.size(), x.rank()));
  const auto x_strides = RowMajorStrides(x);
  // Each axis as [repeat, position].
  std::vector<int64_t> dims, strides;
  Shape y = x;
  for (int i = 0; i < x.rank(); ++i) {
    ASSIGN_OR_RETURN(const Dim dim, TiledDim(Dim(x[i]), repeats[i]));
    y[i] = dim.value();
    dims.insert(dims.end(), {repeats[i], x[i]});
    strides.insert(strides.end(), {0, x_strides[i]});
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  return MakeStridedCopyKernel(spec.input(0).type, {.dims = dims, .strides = strides});
}

}  // namespace

void RegisterExpandOps(OpRegistry& registry) {
  registry.Register(
      {.name = "Expand",
       .version = 13,
       .oldest_version = 8,
       .inputs = {{"input", "T", type_sets::kMovable}, {"shape", "", {ElementType::kInt64}}},
       .outputs = {{"output", "T", type_sets::kMovable}},
       .infer = InferExpand,
       .reference = ReferenceExpand,
       .shape_inputs = {1}});
  registry.Register(
      {.name = "Tile",
       .version = 13,
       .inputs = {{"input", "T", type_sets::kMovable}, {"repeats", "", {ElementType::kInt64}}},
       .outputs = {{"output", "T", type_sets::kMovable}},
       .infer = InferTile,
       .reference = ReferenceTile,
       .shape_inputs = {1}});
}

}  // namespace inferd::engine
