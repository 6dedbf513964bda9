// SplitToSequence and ConcatFromSequence: a tensor as a sequence of its parts, and back.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"
#include "engine/tensor/composite.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kSequence = {ElementType::kComposite};

absl::Status InferSplit(InferenceContext& context) {
  if (context.shape(0).has_rank()) RETURN_IF_ERROR(AxisAttribute(context, 0).status());
  RETURN_IF_ERROR(ExpectRank(context, 0, 1));
  if (context.has_input(1)) RETURN_IF_ERROR(ExpectRank(context, 1, 0, 1));
  context.SetOutput(0, ValueType::SequenceOf(ValueType::TensorOf(context.element_type(0))));
  return absl::OkStatus();
}

// Lengths of the parts along an axis of `extent`. `split`: one length for all but the last, or a
// list of lengths.
absl::StatusOr<std::vector<int64_t>> PartLengths(const TensorView& split, int64_t extent) {
  ASSIGN_OR_RETURN(std::vector<int64_t> lengths, ToInt64Vector(split));
  if (split.shape.rank() == 0) {
    const int64_t each = lengths[0];
    if (each < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input split is ", each, ", expected a positive length"));
    }
    lengths.clear();
    for (int64_t start = 0; start < extent; start += each) {
      lengths.push_back(std::min(each, extent - start));
    }
    return lengths;
  }
  int64_t sum = 0;
  for (int64_t length : lengths) {
    if (length < 0 || length > extent) {
      return absl::InvalidArgumentError(
          absl::StrCat("input split has a length of ", length, " for an axis of ", extent));
    }
    sum += length;
  }
  if (sum != extent) {
    return absl::InvalidArgumentError(absl::StrCat("the lengths in input split sum to ", sum,
                                                   ", expected ", extent, ", the axis"));
  }
  return lengths;
}

absl::Status RunSplit(int axis, bool keep_dims, KernelContext& context) {
  const TensorView& x = context.input(0);
  const int64_t extent = x.shape[axis];
  std::vector<int64_t> lengths(static_cast<size_t>(context.has_input(1) ? 0 : extent), 1);
  if (context.has_input(1)) {
    ASSIGN_OR_RETURN(lengths, PartLengths(context.input(1), extent));
  }
  const int64_t outer = x.shape.Product(0, axis);
  const int64_t inner = x.shape.Product(axis + 1, x.shape.rank());
  const ElementCopier copier(x.type);
  Composite sequence;
  int64_t start = 0;
  for (int64_t length : lengths) {
    Shape shape;
    for (int d = 0; d < x.shape.rank(); ++d) {
      if (d != axis) {
        shape.push_back(x.shape[d]);
      } else if (keep_dims) {
        shape.push_back(length);
      }
    }
    ASSIGN_OR_RETURN(Tensor part, Tensor::Allocate(x.type, shape));
    for (int64_t o = 0; o < outer; ++o) {
      copier.Copy(x.data, (o * extent + start) * inner, part.view().data, o * length * inner,
                  length * inner);
    }
    sequence.items.push_back(std::move(part));
    start += length;
  }
  return context.SetOutput(0, MakeComposite(std::move(sequence)));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeSplit(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const int axis,
                   NormalizeAxis(spec.attributes().GetInt("axis", 0), spec.input(0).shape.rank()));
  // With explicit lengths the axis stays, whatever the attribute says.
  const bool keep_dims = spec.has_input(1) || spec.attributes().GetInt("keepdims", 1) != 0;
  return MakeKernel([=](KernelContext& context) { return RunSplit(axis, keep_dims, context); });
}

absl::Status InferConcat(InferenceContext& context) {
  const ValueType& sequence = context.input_type(0);
  const bool known = sequence.is_sequence() && sequence.inner != nullptr;
  context.SetOutput(0, known ? sequence.inner->element : ElementType::kUndefined, {});
  return absl::OkStatus();
}

absl::Status RunConcat(int64_t axis_attribute, bool new_axis, KernelContext& context) {
  const Composite& sequence = CompositeOf(context.input(0));
  if (sequence.items.empty()) {
    return absl::InvalidArgumentError("the sequence is empty, so the result has no shape");
  }
  const Tensor& first = sequence.items[0];
  if (ElementBits(first.type()) % 8 != 0 || first.type() == ElementType::kComposite) {
    return absl::UnimplementedError(
        absl::StrCat("sequences of ", ElementTypeName(first.type()), " cannot be concatenated"));
  }
  const int rank = first.shape().rank();
  ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_attribute, new_axis ? rank + 1 : rank));
  int64_t extent = 0;
  for (size_t i = 0; i < sequence.items.size(); ++i) {
    const Tensor& item = sequence.items[i];
    bool fits = item.type() == first.type() && item.shape().rank() == rank;
    for (int d = 0; fits && d < rank; ++d) {
      fits = item.shape()[d] == first.shape()[d] || (!new_axis && d == axis);
    }
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, " is ", ElementTypeName(item.type()), item.shape().ToString(),
                       ", element 0 ", ElementTypeName(first.type()), first.shape().ToString(),
                       "; they do not join along axis ", axis));
    }
    extent += new_axis ? 1 : item.shape()[axis];
  }
  Shape shape;
  for (int d = 0; d < axis; ++d) shape.push_back(first.shape()[d]);
  shape.push_back(extent);
  for (int d = new_axis ? axis : axis + 1; d < rank; ++d) shape.push_back(first.shape()[d]);
  ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(first.type(), shape));
  const int64_t outer = shape.Product(0, axis);
  const int64_t inner = shape.Product(axis + 1, shape.rank());
  const ElementCopier copier(first.type());
  int64_t start = 0;
  for (const Tensor& item : sequence.items) {
    const int64_t length = new_axis ? 1 : item.shape()[axis];
    for (int64_t o = 0; o < outer; ++o) {
      copier.Copy(item.view().data, o * length * inner, result.view().data,
                  (o * extent + start) * inner, length * inner);
    }
    start += length;
  }
  return context.SetOutput(0, std::move(result));
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeConcat(const NodeSpec& spec) {
  const int64_t axis = spec.attributes().GetInt("axis", 0);
  const bool new_axis = spec.attributes().GetInt("new_axis", 0) != 0;
  return MakeKernel([=](KernelContext& context) { return RunConcat(axis, new_axis, context); });
}

}  // namespace

void RegisterSequenceTensorOps(OpRegistry& registry) {
  registry.Register(
      {.name = "SplitToSequence",
       .version = 24,
       .oldest_version = 11,
       .inputs = {RequiredParameter("input", "", type_sets::kMovable),
                  OptionalParameter("split", "", {ElementType::kInt32, ElementType::kInt64})},
       .outputs = {RequiredParameter("output_sequence", "", kSequence)},
       .attributes = {{"axis", AttributeSpec::Kind::kInt}, {"keepdims", AttributeSpec::Kind::kInt}},
       .infer = InferSplit,
       .reference = MakeSplit});
  registry.Register({.name = "ConcatFromSequence",
                     .version = 11,
                     .oldest_version = 11,
                     .inputs = {RequiredParameter("input_sequence", "", kSequence)},
                     .outputs = {RequiredParameter("concat_result", "", {})},
                     .attributes = {{"axis", AttributeSpec::Kind::kInt, true},
                                    {"new_axis", AttributeSpec::Kind::kInt}},
                     .infer = InferConcat,
                     .reference = MakeConcat,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
