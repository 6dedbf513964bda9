// GatherElements: each output element names where on one axis it comes from.
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/index_tensor.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  const SymbolicShape& indices = context.shape(1);
  if (x.has_rank()) {
    RETURN_IF_ERROR(NormalizeAxis(context.attributes().GetInt("axis", 0), x.rank()).status());
  }
  if (x.has_rank() && indices.has_rank() && x.rank() != indices.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("input indices has shape ", indices.ToString(),
                                                   ", expected rank ", x.rank(), " as data"));
  }
  SymbolicShape y = indices;
  if (!y.has_rank() && x.has_rank()) y = SymbolicShape::OfRank(x.rank());
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const Shape& y = spec.input(1).shape;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(spec.attributes().GetInt("axis", 0), x.rank()));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis && y[i] > x[i]) {
      return absl::InvalidArgumentError(absl::StrCat("input indices has shape ", y.ToString(),
                                                     ", larger than data ", x.ToString(),
                                                     " on axis ", i));
    }
  }
  const auto x_strides = RowMajorStrides(x);
  const int64_t count = y.NumElements();
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([=](KernelContext& context) {
    const TensorView& indices = context.input(1);
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = IndexAt(indices, i);
      if (!NormalizeIndex(x[axis], &index)) return IndexOutOfRange("indices", i, index, x[axis]);
      int64_t source = 0;
      for (int64_t rest = i, d = x.rank() - 1; d >= 0; --d) {
        source += (d == axis ? index : rest % y[d]) * x_strides[d];
        rest /= y[d];
      }
      copier.Copy(context.input(0).data, source, context.output(0).data, i, 1);
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterGatherElementsOps(OpRegistry& registry) {
  registry.Register(
      {.name = "GatherElements",
       .version = 13,
       .oldest_version = 11,
       .inputs = {{"data", "T", type_sets::kMovable}, {"indices", "Tind", kIndexTypes}},
       .outputs = {{"output", "T", type_sets::kMovable}},
       .attributes = {{"axis", AttributeSpec::Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
