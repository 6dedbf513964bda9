#include "engine/ops/ml/table_input.h"

#include "absl/strings/str_cat.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {
namespace {

absl::Status BadRank(const std::string& shape) {
  return absl::InvalidArgumentError(
      absl::StrCat("input X has shape ", shape, ", expected [N,F] or [F]"));
}

}  // namespace

absl::StatusOr<TableShape> AsTable(const Shape& x) {
  if (x.rank() == 1) return TableShape{1, x[0]};
  if (x.rank() == 2) return TableShape{x[0], x[1]};
  return BadRank(x.ToString());
}

absl::StatusOr<Dim> InferRows(const InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  if (!x.has_rank()) return Dim::Unknown();
  if (x.rank() == 1) return Dim(1);
  if (x.rank() == 2) return x[0];
  return BadRank(x.ToString());
}

}  // namespace inferd::engine
