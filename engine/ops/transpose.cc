// Transpose: the axes in another order.
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/ops/strided_copy.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<std::vector<int>> Permutation(const Attributes& attributes, int rank) {
  std::vector<int64_t> perm = attributes.GetInts("perm");
  if (!attributes.has("perm")) {
    perm.resize(rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  if (static_cast<int>(perm.size()) != rank) {
    return absl::InvalidArgumentError(absl::StrCat("attribute perm is [", absl::StrJoin(perm, ","),
                                                   "], expected a permutation of ", rank, " axes"));
  }
  return NormalizeAxes(perm, rank);
}

absl::Status Infer(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  // perm fixes the rank even where the input's is unknown.
  const std::vector<int64_t> given = context.attributes().GetInts("perm");
  if (!x.has_rank()) {
    context.SetOutput(
        0, context.element_type(0),
        given.empty() ? SymbolicShape() : SymbolicShape::OfRank(static_cast<int>(given.size())));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<int> perm, Permutation(context.attributes(), x.rank()));
  std::vector<Dim> dims;
  for (const int axis : perm) dims.push_back(x[axis]);
  context.SetOutput(0, context.element_type(0), SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(0).shape;
  ASSIGN_OR_RETURN(const std::vector<int> perm, Permutation(spec.attributes(), x.rank()));
  const auto strides = RowMajorStrides(x);
  Shape dims;
  std::vector<int64_t> read_strides;
  for (const int axis : perm) {
    dims.push_back(x[axis]);
    read_strides.push_back(strides[axis]);
  }
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, dims));
  return MakeStridedCopyKernel(spec.input(0).type, {.dims = dims.dims(), .strides = read_strides});
}

}  // namespace

void RegisterTransposeOps(OpRegistry& registry) {
  registry.Register({.name = "Transpose",
                     .version = 25,
                     .inputs = {{"data", "T", kAllElementTypes}},
                     .outputs = {{"transposed", "T", kAllElementTypes}},
                     .attributes = {{"perm", AttributeSpec::Kind::kInts}},
                     .infer = Infer,
                     .reference = Reference});
}

}  // namespace inferd::engine
