#include "engine/ops/shape_functions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"

namespace inferd::engine {

absl::StatusOr<Dim> BroadcastDims(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) {
    if (a.value() == b.value() || b.value() == 1) return a;
    if (a.value() == 1) return b;
    return absl::InvalidArgumentError(
        absl::StrCat("dimensions ", a.value(), " and ", b.value(), " do not broadcast"));
  }
  if (a.known()) return a.value() == 1 ? b : a;
  if (b.known()) return b.value() == 1 ? a : b;
  if (a.symbolic() && a == b) return a;
  return Dim::Unknown();
}

absl::StatusOr<SymbolicShape> BroadcastSymbolicShapes(const SymbolicShape& a,
                                                      const SymbolicShape& b) {
  if (!a.has_rank() || !b.has_rank()) return SymbolicShape();
  const int rank = std::max(a.rank(), b.rank());
  std::vector<Dim> dims(rank);
  for (int i = 1; i <= rank; ++i) {
    const Dim da = i <= a.rank() ? a[a.rank() - i] : Dim(1);
    const Dim db = i <= b.rank() ? b[b.rank() - i] : Dim(1);
    absl::StatusOr<Dim> d = BroadcastDims(da, db);
    if (!d.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shapes ", a.ToString(), " and ", b.ToString(), " do not broadcast"));
    }
    dims[rank - i] = *std::move(d);
  }
  return SymbolicShape(std::move(dims));
}

absl::StatusOr<Dim> MergeDims(const Dim& a, const Dim& b) {
  if (a.known() && b.known() && a.value() != b.value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimensions ", a.value(), " and ", b.value(), " must be equal"));
  }
  if (a.known()) return a;
  if (b.known()) return b;
  return a.symbolic() ? a : b;
}

absl::Status ExpectRank(const InferenceContext& context, int input, int min_rank, int max_rank) {
  const SymbolicShape& shape = context.shape(input);
  if (!shape.has_rank() || (shape.rank() >= min_rank && shape.rank() <= max_rank)) {
    return absl::OkStatus();
  }
  const std::string expected = min_rank == max_rank ? absl::StrCat("rank ", min_rank)
                               : max_rank >= (1 << 20)
                                   ? absl::StrCat("rank ", min_rank, " or more")
                                   : absl::StrCat("rank ", min_rank, " to ", max_rank);
  return absl::InvalidArgumentError(
      absl::StrCat("input ", input, " has shape ", shape.ToString(), ", expected ", expected));
}

absl::Status ExpectScalar(const InferenceContext& context, int input) {
  const SymbolicShape& shape = context.shape(input);
  if (!shape.has_rank()) return absl::OkStatus();
  for (const Dim& d : shape.dims()) {
    if (d.known() && d.value() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", input, " has shape ", shape.ToString(), ", expected a scalar"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> AxisAttribute(const InferenceContext& context, int64_t default_value,
                                  const char* name) {
  const int64_t axis = context.attributes().GetInt(name, default_value);
  const int rank = context.shape(0).rank();
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute ", name, " is ", axis, ", expected a value in [", -rank, ", ", rank,
                     ") for input 0 of shape ", context.shape(0).ToString()));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

absl::StatusOr<std::optional<std::vector<int64_t>>> ConstantInts(const InferenceContext& context,
                                                                 int input) {
  if (!context.has_input(input)) return std::nullopt;
  const Tensor* tensor = context.constant(input);
  if (tensor == nullptr) return std::nullopt;
  ASSIGN_OR_RETURN(std::vector<int64_t> values, ToInt64Vector(tensor->view()));
  return std::optional(std::move(values));
}

absl::StatusOr<SymbolicShape> ShapeFromValues(const std::vector<int64_t>& dims) {
  const Shape shape{absl::MakeConstSpan(dims)};
  RETURN_IF_ERROR(shape.CheckedNumElements().status());
  return SymbolicShape(shape);
}

absl::Status InferSameAsInput(InferenceContext& context) {
  context.SetOutput(0, context.input_type(0));
  return absl::OkStatus();
}

namespace {

absl::Status InferBroadcastAs(InferenceContext& context, ElementType type) {
  SymbolicShape shape = context.shape(0);
  for (int i = 1; i < context.node().num_inputs(); ++i) {
    if (!context.has_input(i)) continue;
    ASSIGN_OR_RETURN(shape, BroadcastSymbolicShapes(shape, context.shape(i)));
  }
  context.SetOutput(0, type, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

absl::Status InferBroadcast(InferenceContext& context) {
  return InferBroadcastAs(context, context.element_type(0));
}

absl::Status InferBroadcastToBool(InferenceContext& context) {
  return InferBroadcastAs(context, ElementType::kBool);
}

absl::Status InferSameShapeBool(InferenceContext& context) {
  context.SetOutput(0, ElementType::kBool, context.shape(0));
  return absl::OkStatus();
}

}  // namespace inferd::engine
