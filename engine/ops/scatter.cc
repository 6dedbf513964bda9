// ScatterElements and ScatterND: a copy of the data with some elements updated, in the order of
// the updates.
#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/index_tensor.h"
#include "engine/ops/index_tuples.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scatter_update.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status InferElements(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  if (x.has_rank()) {
    RETURN_IF_ERROR(NormalizeAxis(context.attributes().GetInt("axis", 0), x.rank()).status());
    for (int i = 1; i < 3; ++i) {
      if (context.shape(i).has_rank() && context.shape(i).rank() != x.rank()) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i == 1 ? "indices" : "updates",
                                                       " has shape ", context.shape(i).ToString(),
                                                       ", expected rank ", x.rank(), " as data"));
      }
    }
  }
  context.SetOutput(0, context.element_type(0), x);
  return absl::OkStatus();
}

// The data, unless the output already is that memory.
void CopyData(KernelContext& context, const ElementCopier& copier) {
  const TensorView& x = context.input(0);
  if (x.data != context.output(0).data) {
    copier.Copy(x.data, 0, context.output(0).data, 0, x.num_elements());
  }
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceElements(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const Shape& updates = spec.input(1).shape;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(spec.attributes().GetInt("axis", 0), x.rank()));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, x));
  if (spec.input(2).shape != updates) {
    return absl::InvalidArgumentError(absl::StrCat("input updates has shape ",
                                                   spec.input(2).shape.ToString(), ", indices ",
                                                   updates.ToString(), ", expected equal shapes"));
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (i != axis && updates[i] > x[i]) {
      return absl::InvalidArgumentError(absl::StrCat("input indices has shape ", updates.ToString(),
                                                     ", larger than data ", x.ToString(),
                                                     " on axis ", i));
    }
  }
  ASSIGN_OR_RETURN(const ScatterUpdate update,
                   SelectScatterUpdate(spec.attributes(), spec.input(0).type));
  const auto strides = RowMajorStrides(x);
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([=](KernelContext& context) {
    CopyData(context, copier);
    const int64_t count = updates.NumElements();
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = IndexAt(context.input(1), i);
      if (!NormalizeIndex(x[axis], &index)) return IndexOutOfRange("indices", i, index, x[axis]);
      int64_t target = 0;
      for (int64_t rest = i, d = x.rank() - 1; d >= 0; --d) {
        target += (d == axis ? index : rest % updates[d]) * strides[d];
        rest /= updates[d];
      }
      update(context.input(2).data, i, context.output(0).data, target, 1);
    }
    return absl::OkStatus();
  });
}

absl::Status InferND(InferenceContext& context) {
  context.SetOutput(0, context.element_type(0), context.shape(0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceND(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const Shape& indices = spec.input(1).shape;
  ASSIGN_OR_RETURN(const IndexTuples tuples, IndexTuples::Make(x, indices, 0));
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, x));
  Shape expected(indices.dims().subspan(0, indices.rank() - 1));
  for (int i = tuples.tuple_size(); i < x.rank(); ++i) expected.push_back(x[i]);
  if (spec.input(2).shape != expected) {
    return absl::InvalidArgumentError(absl::StrCat("input updates has shape ",
                                                   spec.input(2).shape.ToString(), ", expected ",
                                                   expected.ToString()));
  }
  ASSIGN_OR_RETURN(const ScatterUpdate update,
                   SelectScatterUpdate(spec.attributes(), spec.input(0).type));
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([=](KernelContext& context) {
    CopyData(context, copier);
    const int64_t run = tuples.slice_elements();
    for (int64_t i = 0; i < tuples.count(); ++i) {
      int64_t target;
      RETURN_IF_ERROR(tuples.Locate(context.input(1), i, &target));
      update(context.input(2).data, i * run, context.output(0).data, target, run);
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterScatterOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register({.name = "ScatterElements",
                     .version = 18,
                     .oldest_version = 11,
                     .inputs = {{"data", "T", type_sets::kMovable},
                                {"indices", "Tind", kIndexTypes},
                                {"updates", "T", type_sets::kMovable}},
                     .outputs = {{"output", "T", type_sets::kMovable}},
                     .attributes = {{"axis", Kind::kInt}, {"reduction", Kind::kString}},
                     .infer = InferElements,
                     .reference = ReferenceElements,
                     .in_place_inputs = {0}});
  registry.Register({.name = "ScatterND",
                     .version = 18,
                     .oldest_version = 11,
                     .inputs = {{"data", "T", type_sets::kMovable},
                                {"indices", "", {ElementType::kInt64}},
                                {"updates", "T", type_sets::kMovable}},
                     .outputs = {{"output", "T", type_sets::kMovable}},
                     .attributes = {{"reduction", Kind::kString}},
                     .infer = InferND,
                     .reference = ReferenceND,
                     .in_place_inputs = {0}});
}

}  // namespace inferd::engine
