// Reshape, Flatten, Squeeze, Unsqueeze: another shape for the same elements in the same order.
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/shape_input.h"
#include "engine/ops/strided_copy.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// The product of some dimensions, of which at most one unknown is kept.
class DimProduct {
 public:
  absl::Status Multiply(const Dim& dim) {
    if (!dim.known()) {
      ++unknowns_;
      unknown_ = dim;
      return absl::OkStatus();
    }
    if (__builtin_mul_overflow(known_, dim.value(), &known_)) {
      return absl::InvalidArgumentError("the number of elements overflows");
    }
    return absl::OkStatus();
  }
  int unknowns() const { return unknowns_; }
  int64_t known() const { return known_; }
  Dim AsDim() const {
    if (unknowns_ == 0 || known_ == 0) return Dim(known_);
    return unknowns_ == 1 && known_ == 1 ? unknown_ : Dim::Unknown();
  }
  // What times `divisor` is this product; INVALID_ARGUMENT where there is no such size.
  absl::StatusOr<Dim> DividedBy(const DimProduct& divisor) const {
    if (divisor.unknowns_ > 0) return Dim::Unknown();
    if (unknowns_ == 0) {
      if (divisor.known_ == 0) {
        if (known_ == 0) return Dim(0);
        return absl::InvalidArgumentError("-1 beside a dimension of 0 has no size");
      }
      if (known_ % divisor.known_ != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(known_, " elements do not divide by ", divisor.known_));
      }
      return Dim(known_ / divisor.known_);
    }
    return unknowns_ == 1 && known_ == divisor.known_ ? unknown_ : Dim::Unknown();
  }

 private:
  int64_t known_ = 1;
  int unknowns_ = 0;
  Dim unknown_;
};

absl::StatusOr<SymbolicShape> ReshapedShape(const SymbolicShape& x,
                                            const std::vector<int64_t>& target, bool allow_zero) {
  const auto describe = [&](absl::string_view fault) {
    return absl::InvalidArgumentError(absl::StrCat("cannot reshape ", x.ToString(), " to [",
                                                   absl::StrJoin(target, ","), "]: ", fault));
  };
  std::vector<Dim> dims(target.size());
  // Dimensions copied by 0 are on both sides, so the rest decides what -1 is.
  std::vector<bool> copied(x.has_rank() ? x.rank() : 0, false);
  DimProduct wanted;
  int inferred = -1;
  bool copies_unknown = false;
  for (int i = 0; i < static_cast<int>(target.size()); ++i) {
    if (target[i] == 0 && !allow_zero) {
      if (!x.has_rank()) {
        copies_unknown = true;
        continue;
      }
      if (i >= x.rank()) return describe(absl::StrCat("0 at ", i, " copies no dimension"));
      dims[i] = x[i];
      copied[i] = true;
      continue;
    }
    if (target[i] == -1) {
      if (inferred >= 0) return describe("more than one -1");
      inferred = i;
      continue;
    }
    if (target[i] < 0) return describe("negative dimension");
    dims[i] = Dim(target[i]);
    RETURN_IF_ERROR(wanted.Multiply(dims[i]));
  }
  if (!x.has_rank() || copies_unknown) return SymbolicShape(std::move(dims));
  DimProduct have;
  for (int i = 0; i < x.rank(); ++i) {
    // A copied 0 makes both sides 0 and leaves -1 to the rest.
    if (!copied[i]) RETURN_IF_ERROR(have.Multiply(x[i]));
  }
  if (inferred >= 0) {
    absl::StatusOr<Dim> dim = have.DividedBy(wanted);
    if (!dim.ok()) return describe(dim.status().message());
    dims[inferred] = *std::move(dim);
  } else if (have.unknowns() == 0 && have.known() != wanted.known()) {
    bool zero_copied = false;
    for (int i = 0; i < x.rank(); ++i) zero_copied |= copied[i] && x[i] == Dim(0);
    if (!zero_copied) return describe("another number of elements");
  }
  return SymbolicShape(std::move(dims));
}

absl::Status InferReshape(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  ASSIGN_OR_RETURN(const auto target, ConstantInts(context, 1));
  if (!target.has_value()) {
    const std::optional<int64_t> rank = KnownCount(context, 1);
    context.SetOutput(0, type,
                      rank.has_value() && *rank <= 64
                          ? SymbolicShape::OfRank(static_cast<int>(*rank))
                          : SymbolicShape());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(
      SymbolicShape shape,
      ReshapedShape(context.shape(0), *target, context.attributes().GetInt("allowzero", 0) != 0));
  context.SetOutput(0, type, std::move(shape));
  return absl::OkStatus();
}

absl::Status InferFlatten(InferenceContext& context) {
  const SymbolicShape& x = context.shape(0);
  SymbolicShape y = SymbolicShape::OfRank(2);
  if (x.has_rank()) {
    const int64_t attribute = context.attributes().GetInt("axis", 1);
    // axis may equal the rank: everything before it.
    const int64_t axis = attribute < 0 ? attribute + x.rank() : attribute;
    if (axis < 0 || axis > x.rank()) {
      return absl::InvalidArgumentError(absl::StrCat("attribute axis is ", attribute,
                                                     ", expected a value in [", -x.rank(), ",",
                                                     x.rank(), "] for shape ", x.ToString()));
    }
    DimProduct before, after;
    for (int i = 0; i < x.rank(); ++i) {
      RETURN_IF_ERROR((i < axis ? before : after).Multiply(x[i]));
    }
    y[0] = before.AsDim();
    y[1] = after.AsDim();
  }
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

absl::Status InferSqueeze(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  ASSIGN_OR_RETURN(const auto axes, ConstantInts(context, 1));
  if (!x.has_rank() || (context.has_input(1) && !axes.has_value())) {
    context.SetOutput(0, type, {});
    return absl::OkStatus();
  }
  std::vector<bool> removed(x.rank(), false);
  if (axes.has_value()) {
    ASSIGN_OR_RETURN(const std::vector<int> normalized, NormalizeAxes(*axes, x.rank()));
    for (const int axis : normalized) {
      if (x[axis].known() && x[axis].value() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis ", axis, " of ", x.ToString(), " is not 1 and cannot be squeezed"));
      }
      removed[axis] = true;
    }
  } else {
    for (int i = 0; i < x.rank(); ++i) {
      if (!x[i].known()) {
        context.SetOutput(0, type, {});
        return absl::OkStatus();
      }
      removed[i] = x[i].value() == 1;
    }
  }
  std::vector<Dim> dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!removed[i]) dims.push_back(x[i]);
  }
  context.SetOutput(0, type, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status InferUnsqueeze(InferenceContext& context) {
  const ElementType type = context.element_type(0);
  const SymbolicShape& x = context.shape(0);
  ASSIGN_OR_RETURN(const auto axes, ConstantInts(context, 1));
  if (!x.has_rank() || !axes.has_value()) {
    const std::optional<int64_t> count = KnownCount(context, 1);
    context.SetOutput(0, type,
                      x.has_rank() && count.has_value() && *count <= 64
                          ? SymbolicShape::OfRank(x.rank() + static_cast<int>(*count))
                          : SymbolicShape());
    return absl::OkStatus();
  }
  const int rank = x.rank() + static_cast<int>(axes->size());
  ASSIGN_OR_RETURN(const std::vector<int> normalized, NormalizeAxes(*axes, rank));
  std::vector<bool> inserted(rank, false);
  for (const int axis : normalized) inserted[axis] = true;
  std::vector<Dim> dims;
  int next = 0;
  for (int i = 0; i < rank; ++i) dims.push_back(inserted[i] ? Dim(1) : x[next++]);
  context.SetOutput(0, type, SymbolicShape(std::move(dims)));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> ReferenceView(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const int64_t from, spec.input(0).shape.CheckedNumElements());
  ASSIGN_OR_RETURN(const int64_t to, spec.output(0).shape.CheckedNumElements());
  if (from != to) {
    return absl::InvalidArgumentError(absl::StrCat("cannot give ", spec.input(0).shape.ToString(),
                                                   " the shape ", spec.output(0).shape.ToString()));
  }
  return MakeCopyKernel();
}

OpDef View(absl::string_view name, InferFn infer) {
  OpDef op;
  op.name = name;
  op.version = 25;
  op.inputs = {{"data", "T", kAllElementTypes}};
  op.outputs = {{"result", "T", kAllElementTypes}};
  op.infer = infer;
  op.reference = ReferenceView;
  op.in_place_inputs = {0};
  op.is_reshape = true;
  return op;
}

constexpr ElementTypeSet kInt64Only = {ElementType::kInt64};

}  // namespace

void RegisterReshapeOps(OpRegistry& registry) {
  OpDef reshape = View("Reshape", InferReshape);
  reshape.inputs.push_back({"shape", "", kInt64Only});
  reshape.attributes = {{"allowzero", AttributeSpec::Kind::kInt}};
  reshape.shape_inputs = {1};
  registry.Register(std::move(reshape));

  OpDef flatten = View("Flatten", InferFlatten);
  flatten.attributes = {{"axis", AttributeSpec::Kind::kInt}};
  registry.Register(std::move(flatten));

  OpDef squeeze = View("Squeeze", InferSqueeze);
  squeeze.inputs.push_back({"axes", "", kInt64Only, FormalParameter::Option::kOptional});
  squeeze.shape_inputs = {1};
  registry.Register(std::move(squeeze));

  OpDef unsqueeze = View("Unsqueeze", InferUnsqueeze);
  unsqueeze.inputs.push_back({"axes", "", kInt64Only});
  unsqueeze.shape_inputs = {1};
  registry.Register(std::move(unsqueeze));
}

}  // namespace inferd::engine
