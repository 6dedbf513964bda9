// Gather: whole sub-tensors picked by index along one axis.
#include <vector>

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
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  const SymbolicShape& indices = context.shape(1);
  if (!x.has_rank()) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context.attributes().GetInt("axis", 0), x.rank()));
  if (!indices.has_rank()) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  std::vector<Dim> dims(x.dims().begin(), x.dims().begin() + axis);
  dims.insert(dims.end(), indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), x.dims().begin() + axis + 1, x.dims().end());
  context.SetOutput(0, type, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  const Shape& indices = spec.input(1).shape;
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(spec.attributes().GetInt("axis", 0), x.rank()));
  Shape expected(x.dims().subspan(0, axis));
  for (const int64_t d : indices) expected.push_back(d);
  for (int i = axis + 1; i < x.rank(); ++i) expected.push_back(x[i]);
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, expected));
  const int64_t outer = x.Product(0, axis);
  const int64_t inner = x.Product(axis + 1, x.rank());
  const int64_t size = x[axis];
  const int64_t count = indices.NumElements();
  const ElementCopier copier(spec.input(0).type);
  return MakeKernel([=](KernelContext& context) {
    const TensorView& picks = context.input(1);
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = IndexAt(picks, i);
      if (!NormalizeIndex(size, &index)) return IndexOutOfRange("indices", i, index, size);
      for (int64_t o = 0; o < outer; ++o) {
        copier.Copy(context.input(0).data, (o * size + index) * inner, context.output(0).data,
                    (o * count + i) * inner, inner);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterGatherOps(OpRegistry& registry) {
  registry.Register(
      {.name = "Gather",
       .version = 13,
       .inputs = {{"data", "T", type_sets::kMovable}, {"indices", "Tind", kIndexTypes}},
       .outputs = {{"output", "T", type_sets::kMovable}},
       .attributes = {{"axis", AttributeSpec::Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
