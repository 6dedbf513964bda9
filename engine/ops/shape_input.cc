#include "engine/ops/shape_input.h"

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

std::string InputName(const OpDef& op, int i) {
  const FormalParameter* p = op.input_parameter(i);
  return p == nullptr ? absl::StrCat("#", i) : std::string(p->name);
}

absl::StatusOr<std::vector<int64_t>> ReadInts(const OpDef& op, int i, const Tensor& value) {
  if (value.shape().rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("input ", InputName(op, i), " has shape ",
                                                   value.shape().ToString(),
                                                   ", expected one dimension"));
  }
  return ToInt64Vector(value.view());
}

}  // namespace

std::optional<int64_t> KnownCount(const InferenceContext& context, int i) {
  if (!context.has_input(i) || !context.shape(i).has_rank()) return std::nullopt;
  const SymbolicShape& shape = context.shape(i);
  if (shape.rank() == 0) return 1;
  if (shape.rank() != 1 || !shape[0].known()) return std::nullopt;
  return shape[0].value();
}

absl::Status ExpectAllInputs(const InferenceContext& context) {
  const int count = context.node().num_inputs();
  if (count == 0) return absl::InvalidArgumentError("the node has no inputs, expected at least 1");
  for (int i = 0; i < count; ++i) {
    if (!context.has_input(i)) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is absent"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> PlannedInts(const NodeSpec& spec, int i) {
  if (!spec.has_input(i)) return std::vector<int64_t>();
  const Tensor* value = spec.input(i).constant;
  if (value == nullptr) {
    return absl::InternalError(absl::StrCat("the value of input ", InputName(spec.op(), i),
                                            " shapes the output but is not known to the plan"));
  }
  return ReadInts(spec.op(), i, *value);
}

absl::Status CheckOutputShape(const NodeSpec& spec, int i, const Shape& expected) {
  if (!spec.has_output(i) || spec.output(i).shape == expected) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("output ", i, " is planned as ",
                                          spec.output(i).shape.ToString(), ", but it is ",
                                          expected.ToString()));
}

absl::StatusOr<std::vector<int>> NormalizeAxes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int> result;
  std::vector<bool> seen(rank, false);
  for (const int64_t a : axes) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(a, rank));
    if (seen[axis]) return absl::InvalidArgumentError(absl::StrCat("axis ", a, " is given twice"));
    seen[axis] = true;
    result.push_back(axis);
  }
  return result;
}

}  // namespace inferd::engine
