// SequenceEmpty SequenceConstruct SequenceInsert SequenceErase SequenceAt SequenceLength.
#include <utility>

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
constexpr ElementTypeSet kIndex = {ElementType::kInt32, ElementType::kInt64};

// The type of the elements of input 0, where it is known to be a sequence.
ValueType ElementOf(const ValueType& sequence) {
  return sequence.is_sequence() && sequence.inner != nullptr ? *sequence.inner : ValueType{};
}

// Elements of a sequence differ in shape; what is promised of one holds for none.
ValueType WithoutShape(ValueType type) {
  if (type.is_tensor()) type.shape = {};
  return type;
}

absl::Status InferEmpty(InferenceContext& context) {
  const int64_t code = context.attributes().GetInt("dtype", 1);
  const std::optional<ElementType> type = code < 0 || code > kNumElementTypes
                                              ? std::nullopt
                                              : ElementTypeFromOnnx(static_cast<int32_t>(code));
  if (!type.has_value() || *type == ElementType::kUndefined) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute 'dtype' is ", code, ", which is no element type"));
  }
  context.SetOutput(0, ValueType::SequenceOf(ValueType::TensorOf(*type)));
  return absl::OkStatus();
}

absl::Status InferConstruct(InferenceContext& context) {
  context.SetOutput(0, ValueType::SequenceOf(WithoutShape(context.input_type(0))));
  return absl::OkStatus();
}

// Insert and Erase keep the type of the sequence.
absl::Status InferSameSequence(InferenceContext& context) {
  ValueType element = ElementOf(context.input_type(0));
  if (element.is_tensor() && element.element == ElementType::kUndefined &&
      context.node().op().name == "SequenceInsert") {
    element = context.input_type(1);
  }
  context.SetOutput(0, ValueType::SequenceOf(WithoutShape(std::move(element))));
  return absl::OkStatus();
}

absl::Status InferAt(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectScalar(context, 1));
  context.SetOutput(0, WithoutShape(ElementOf(context.input_type(0))));
  return absl::OkStatus();
}

absl::Status InferLength(InferenceContext& context) {
  context.SetOutput(0, ElementType::kInt64, SymbolicShape(std::vector<Dim>{}));
  return absl::OkStatus();
}

// A position in [-length, limit], counted from the start.
absl::StatusOr<size_t> ReadPosition(const TensorView& view, size_t length, size_t limit) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64Vector(view));
  if (values.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the position has ", values.size(), " elements, expected one"));
  }
  const auto signed_length = static_cast<int64_t>(length);
  const int64_t position = values[0] < 0 ? values[0] + signed_length : values[0];
  if (position < 0 || position > static_cast<int64_t>(limit)) {
    return absl::InvalidArgumentError(
        absl::StrCat("position ", values[0], " is outside of a sequence of ", length, " elements"));
  }
  return static_cast<size_t>(position);
}

absl::Status RunEmpty(KernelContext& context) { return context.SetOutput(0, MakeComposite({})); }

absl::Status RunConstruct(KernelContext& context) {
  Composite sequence;
  for (int i = 0; i < context.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(Tensor element, Tensor::CopyOf(context.input(i)));
    sequence.items.push_back(std::move(element));
  }
  return context.SetOutput(0, MakeComposite(std::move(sequence)));
}

absl::Status RunInsert(KernelContext& context) {
  Composite sequence = CompositeOf(context.input(0));
  const size_t length = sequence.items.size();
  size_t position = length;
  if (context.has_input(2)) {
    ASSIGN_OR_RETURN(position, ReadPosition(context.input(2), length, length));
  }
  ASSIGN_OR_RETURN(Tensor element, Tensor::CopyOf(context.input(1)));
  if (length > 0 && sequence.items[0].type() != element.type()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an element of type ", ElementTypeName(element.type()),
                     " cannot join a sequence of ", ElementTypeName(sequence.items[0].type())));
  }
  sequence.items.insert(sequence.items.begin() + static_cast<int64_t>(position),
                        std::move(element));
  return context.SetOutput(0, MakeComposite(std::move(sequence)));
}

absl::Status RunErase(KernelContext& context) {
  Composite sequence = CompositeOf(context.input(0));
  const size_t length = sequence.items.size();
  if (length == 0) return absl::InvalidArgumentError("cannot erase from an empty sequence");
  size_t position = length - 1;
  if (context.has_input(1)) {
    ASSIGN_OR_RETURN(position, ReadPosition(context.input(1), length, length - 1));
  }
  sequence.items.erase(sequence.items.begin() + static_cast<int64_t>(position));
  return context.SetOutput(0, MakeComposite(std::move(sequence)));
}

absl::Status RunAt(KernelContext& context) {
  const Composite& sequence = CompositeOf(context.input(0));
  if (sequence.items.empty()) return absl::InvalidArgumentError("the sequence is empty");
  ASSIGN_OR_RETURN(const size_t position, ReadPosition(context.input(1), sequence.items.size(),
                                                       sequence.items.size() - 1));
  return context.SetOutput(0, sequence.items[position]);
}

absl::Status RunLength(KernelContext& context) {
  *context.output(0).as<int64_t>() =
      static_cast<int64_t>(CompositeOf(context.input(0)).items.size());
  return absl::OkStatus();
}

template <absl::Status (*Run)(KernelContext&)>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec&) {
  return MakeKernel(Run);
}

}  // namespace

void RegisterSequenceOps(OpRegistry& registry) {
  registry.Register({.name = "SequenceEmpty",
                     .version = 11,
                     .oldest_version = 11,
                     .outputs = {RequiredParameter("output", "", kSequence)},
                     .attributes = {{"dtype", AttributeSpec::Kind::kInt}},
                     .infer = InferEmpty,
                     .reference = Reference<RunEmpty>});
  registry.Register({.name = "SequenceConstruct",
                     .version = 11,
                     .oldest_version = 11,
                     .inputs = {VariadicParameter("inputs", "T", kAllElementTypes)},
                     .outputs = {RequiredParameter("output_sequence", "", kSequence)},
                     .infer = InferConstruct,
                     .reference = Reference<RunConstruct>});
  registry.Register({.name = "SequenceInsert",
                     .version = 11,
                     .oldest_version = 11,
                     .inputs = {RequiredParameter("input_sequence", "", kSequence),
                                RequiredParameter("tensor", "", kAllElementTypes),
                                OptionalParameter("position", "", kIndex)},
                     .outputs = {RequiredParameter("output_sequence", "", kSequence)},
                     .infer = InferSameSequence,
                     .reference = Reference<RunInsert>});
  registry.Register({.name = "SequenceErase",
                     .version = 11,
                     .oldest_version = 11,
                     .inputs = {RequiredParameter("input_sequence", "", kSequence),
                                OptionalParameter("position", "", kIndex)},
                     .outputs = {RequiredParameter("output_sequence", "", kSequence)},
                     .infer = InferSameSequence,
                     .reference = Reference<RunErase>});
  registry.Register({.name = "SequenceAt",
                     .version = 11,
                     .oldest_version = 11,
                     .inputs = {RequiredParameter("input_sequence", "", kSequence),
                                RequiredParameter("position", "", kIndex)},
                     .outputs = {RequiredParameter("tensor", "", {})},
                     .infer = InferAt,
                     .reference = Reference<RunAt>,
                     .dynamic_outputs = true});
  registry.Register({.name = "SequenceLength",
                     .version = 11,
                     .oldest_version = 11,
                     .inputs = {RequiredParameter("input_sequence", "", kSequence)},
                     .outputs = {RequiredParameter("length", "", {ElementType::kInt64})},
                     .infer = InferLength,
                     .reference = Reference<RunLength>});
}

}  // namespace inferd::engine
