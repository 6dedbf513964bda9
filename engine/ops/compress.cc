// Compress: the slices a condition selects. How many is known at run time only.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  if (context.shape(1).has_rank() && context.shape(1).rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input condition has shape ", context.shape(1).ToString(), ", expected one dimension"));
  }
  if (!context.attributes().has("axis")) {
    context.SetOutput(0, type, SymbolicShape::OfRank(1));
    return absl::OkStatus();
  }
  SymbolicShape y = x;
  if (x.has_rank()) {
    ASSIGN_OR_RETURN(const int axis,
                     NormalizeAxis(context.attributes().GetInt("axis", 0), x.rank()));
    y[axis] = Dim::Unknown();
  }
  context.SetOutput(0, type, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  // Without an axis the input is one long vector.
  Shape x = spec.input(0).shape;
  int axis = 0;
  if (spec.attributes().has("axis")) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(spec.attributes().GetInt("axis", 0), x.rank()));
  } else {
    x = Shape{x.NumElements()};
  }
  const int64_t condition = spec.input(1).shape.NumElements();
  if (condition > x[axis]) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input condition has ", condition, " elements, more than the ", x[axis], " of the axis"));
  }
  const int64_t outer = x.Product(0, axis);
  const int64_t inner = x.Product(axis + 1, x.rank());
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([=](KernelContext& context) -> absl::Status {
    const bool* selected = context.input(1).as<bool>();
    Shape shape = x;
    shape[axis] = std::count(selected, selected + condition, true);
    ASSIGN_OR_RETURN(const TensorView y, context.AllocateOutput(0, shape));
    int64_t to = 0;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < condition; ++i) {
        if (!selected[i]) continue;
        copier.Copy(context.input(0).data, (o * x[axis] + i) * inner, y.data, to, inner);
        to += inner;
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterCompressOps(OpRegistry& registry) {
  registry.Register(
      {.name = "Compress",
       .version = 28,
       .oldest_version = 9,
       .inputs = {{"input", "T", type_sets::kMovable}, {"condition", "", {ElementType::kBool}}},
       .outputs = {{"output", "T", type_sets::kMovable}},
       .attributes = {{"axis", AttributeSpec::Kind::kInt}},
       .infer = Infer,
       .reference = Reference,
       .dynamic_outputs = true});
}

}  // namespace inferd::engine
