// GatherND: slices picked by index tuples.
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/index_tuples.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  const SymbolicShape& indices = context.shape(1);
  const ElementType type = context.element_type(0);
  const int64_t batch_dims = context.attributes().GetInt("batch_dims", 0);
  if (!x.has_rank() || !indices.has_rank() || indices.rank() == 0 ||
      !indices[indices.rank() - 1].known()) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  const int64_t size = indices[indices.rank() - 1].value();
  if (batch_dims < 0 || batch_dims >= indices.rank() || size > x.rank() - batch_dims) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices of shape ", indices.ToString(), " with ", batch_dims,
                     " batch dimensions do not address data of shape ", x.ToString()));
  }
  std::vector<Dim> dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), x.dims().begin() + batch_dims + size, x.dims().end());
  context.SetOutput(0, type, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const IndexTuples tuples,
                   IndexTuples::Make(spec.input(0).shape, spec.input(1).shape,
                                     spec.attributes().GetInt("batch_dims", 0)));
  if (tuples.count() * tuples.slice_elements() != spec.output(0).shape.NumElements()) {
    return absl::InternalError(
        absl::StrCat("the output is planned as ", spec.output(0).shape.ToString()));
  }
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([tuples, copier](KernelContext& context) {
    const int64_t run = tuples.slice_elements();
    for (int64_t i = 0; i < tuples.count(); ++i) {
      int64_t source;
      RETURN_IF_ERROR(tuples.Locate(context.input(1), i, &source));
      copier.Copy(context.input(0).data, source, context.output(0).data, i * run, run);
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterGatherNDOps(OpRegistry& registry) {
  registry.Register(
      {.name = "GatherND",
       .version = 13,
       .oldest_version = 11,
       .inputs = {{"data", "T", type_sets::kMovable}, {"indices", "", {ElementType::kInt64}}},
       .outputs = {{"output", "T", type_sets::kMovable}},
       .attributes = {{"batch_dims", AttributeSpec::Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
