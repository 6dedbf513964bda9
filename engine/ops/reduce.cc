// The Reduce family: schema, axes and shape function. Kernels are in reduce_{sums,norms,
// extrema}.cc.
//
// With noop_with_empty_axes and no axes the reduction runs over no dimension: every element is
// folded alone, so that ReduceSumSquare still squares.
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/reduce_kernel.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The dimensions to reduce of an input of `rank`.
absl::StatusOr<absl::InlinedVector<bool, 8>> ReducedDims(const std::vector<int64_t>& axes,
                                                         bool noop_with_empty_axes, int rank) {
  if (axes.empty()) return absl::InlinedVector<bool, 8>(rank, !noop_with_empty_axes);
  absl::InlinedVector<bool, 8> reduced(rank, false);
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input 1 (axes) holds ", axis, ", expected values in [", -rank, ", ", rank, ")"));
    }
    const int64_t d = axis < 0 ? axis + rank : axis;
    if (reduced[d]) {
      return absl::InvalidArgumentError(absl::StrCat("input 1 (axes) names dimension ", d,
                                                     " twice: {", absl::StrJoin(axes, ", "), "}"));
    }
    reduced[d] = true;
  }
  return reduced;
}

absl::Status InferReduce(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const bool keepdims = context.attributes().GetInt("keepdims", 1) != 0;
  const bool noop = context.attributes().GetInt("noop_with_empty_axes", 0) != 0;
  if (context.has_input(1)) RETURN_IF_ERROR(ExpectRank(context, 1, 0, 1));
  ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> axes, ConstantInts(context, 1));
  if (!context.has_input(1)) axes.emplace();

  const SymbolicShape& x = context.shape(0);
  if (!x.has_rank()) {
    // Everything reduced and dropped is a scalar whatever the rank.
    const bool scalar = axes.has_value() && axes->empty() && !noop && !keepdims;
    context.SetOutput(0, type, scalar ? SymbolicShape(Shape{}) : SymbolicShape());
    return absl::OkStatus();
  }
  if (!axes.has_value()) {
    // Which dimensions go is not known yet; how many stay may be.
    if (keepdims) {
      context.SetOutput(0, type, SymbolicShape::OfRank(x.rank()));
      return absl::OkStatus();
    }
    const SymbolicShape& a = context.shape(1);
    const bool counted = a.has_rank() && a.rank() == 1 && a[0].known() && a[0].value() > 0;
    if (counted && a[0].value() > x.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input 1 holds ", a[0].value(), " axes, input 0 has rank ", x.rank()));
    }
    context.SetOutput(0, type,
                      counted ? SymbolicShape::OfRank(x.rank() - static_cast<int>(a[0].value()))
                              : SymbolicShape());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto reduced, ReducedDims(*axes, noop, x.rank()));
  std::vector<Dim> dims;
  for (int d = 0; d < x.rank(); ++d) {
    if (!reduced[d]) {
      dims.push_back(x[d]);
    } else if (keepdims) {
      dims.push_back(Dim(1));
    }
  }
  context.SetOutput(0, type, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ReductionPlan> PlanReduceNode(const NodeSpec& spec) {
  std::vector<int64_t> axes;
  if (spec.has_input(1)) {
    if (spec.input(1).constant == nullptr) {
      return absl::InternalError(
          absl::StrCat(spec.op().name, ": axes must be known when the kernel is made"));
    }
    ASSIGN_OR_RETURN(axes, ToInt64Vector(spec.input(1).constant->view()));
  }
  const bool noop = spec.attributes().GetInt("noop_with_empty_axes", 0) != 0;
  const Shape& shape = spec.input(0).shape;
  ASSIGN_OR_RETURN(const auto reduced, ReducedDims(axes, noop, shape.rank()));
  return PlanReduction(shape, reduced);
}

void RegisterReduceOp(OpRegistry& registry, const char* name, int version, ElementTypeSet types,
                      ReferenceFn reference) {
  using Kind = AttributeSpec::Kind;
  OpDef def;
  def.name = name;
  def.version = version;
  def.inputs = {RequiredParameter("data", "T", types),
                OptionalParameter("axes", "", {ElementType::kInt64})};
  def.outputs = {RequiredParameter("reduced", "T", types)};
  def.attributes = {{"keepdims", Kind::kInt}, {"noop_with_empty_axes", Kind::kInt}};
  def.infer = InferReduce;
  def.reference = reference;
  def.shape_inputs = {1};
  registry.Register(std::move(def));
}

void RegisterReduceOps(OpRegistry& registry) {
  RegisterReduceSums(registry);
  RegisterReduceNorms(registry);
  RegisterReduceExtrema(registry);
}

}  // namespace inferd::engine
