// Concat: tensors one after the other along an axis.
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Adds dimension `from` to `sum` along the axis.
absl::Status AddDim(const Dim& from, Dim* sum) {
  if (!sum->known() || !from.known()) {
    *sum = Dim::Unknown();
    return absl::OkStatus();
  }
  int64_t total;
  if (__builtin_add_overflow(sum->value(), from.value(), &total)) {
    return absl::InvalidArgumentError("the size along the axis overflows");
  }
  *sum = Dim(total);
  return absl::OkStatus();
}

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectAllInputs(context));
  const ElementType type = context.element_type(0);
  const int count = context.node().num_inputs();
  bool ranks_known = true;
  int rank = -1;
  for (int i = 0; i < count; ++i) {
    const SymbolicShape& x = context.shape(i);
    if (!x.has_rank()) {
      ranks_known = false;
      continue;
    }
    if (rank >= 0 && x.rank() != rank) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " has shape ", x.ToString(),
                                                     ", expected rank ", rank, " as before"));
    }
    rank = x.rank();
  }
  if (rank < 0) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context.attributes().GetInt("axis", 0), rank));
  SymbolicShape y = SymbolicShape::OfRank(rank);
  y[axis] = ranks_known ? Dim(0) : Dim::Unknown();
  for (int i = 0; i < count; ++i) {
    const SymbolicShape& x = context.shape(i);
    if (!x.has_rank()) continue;
    if (count == 1)
      y[axis] = x[axis];
    else
      RETURN_IF_ERROR(AddDim(x[axis], &y[axis]));
    for (int d = 0; d < rank; ++d) {
      if (d == axis) continue;
      if (y[d].known() && x[d].known() && y[d].value() != x[d].value()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input ", i, " has shape ", x.ToString(), ", expected ", y[d].value(), " on axis ", d));
      }
      if (!y[d].known() && (x[d].known() || !y[d].symbolic())) y[d] = x[d];
    }
  }
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& y = spec.output(0).shape;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(spec.attributes().GetInt("axis", 0), y.rank()));
  const int64_t outer = y.Product(0, axis);
  const int64_t inner = y.Product(axis + 1, y.rank());
  std::vector<int64_t> runs;  // elements of one outer step, per input
  int64_t total = 0;
  for (const OperandSpec& x : spec.inputs) {
    if (x.shape.rank() != y.rank()) {
      return absl::InternalError(absl::StrCat("input of shape ", x.shape.ToString(),
                                              " in a result of shape ", y.ToString()));
    }
    runs.push_back(x.shape[axis] * inner);
    total += runs.back();
  }
  if (total != y[axis] * inner) {
    return absl::InternalError(
        absl::StrCat("the inputs have ", total, " elements per step, the output ", y.ToString()));
  }
  const ElementCopier copier(spec.output(0).type);
  return MakeKernel([outer, total, runs, copier](KernelContext& context) {
    int64_t start = 0;
    for (int i = 0; i < static_cast<int>(runs.size()); ++i) {
      const void* x = context.input(i).data;
      for (int64_t o = 0; o < outer; ++o) {
        copier.Copy(x, o * runs[i], context.output(0).data, o * total + start, runs[i]);
      }
      start += runs[i];
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterConcatOps(OpRegistry& registry) {
  registry.Register(
      {.name = "Concat",
       .version = 13,
       .inputs = {{"inputs", "T", type_sets::kMovable, FormalParameter::Option::kVariadic}},
       .outputs = {{"concat_result", "T", type_sets::kMovable}},
       .attributes = {{"axis", AttributeSpec::Kind::kInt, /*required=*/true}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
