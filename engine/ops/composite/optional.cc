// Optional OptionalHasElement OptionalGetElement.
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

constexpr ElementTypeSet kOptional = {ElementType::kComposite};
constexpr ElementTypeSet kAnything = kAllElementTypes | kOptional;

bool HoldsOptional(const TensorView& view) {
  return view.type == ElementType::kComposite &&
         CompositeOf(view).kind == Composite::Kind::kOptional;
}

absl::Status InferOptional(InferenceContext& context) {
  const auto* type = context.attributes().Get<ValueType>("type");
  if (!context.has_input(0) && type == nullptr) {
    return absl::InvalidArgumentError("it has neither an input nor attribute 'type'");
  }
  context.SetOutput(0, ValueType::OptionalOf(context.has_input(0) ? context.input_type(0) : *type));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeOptional(const NodeSpec&) {
  return MakeKernel([](KernelContext& context) -> absl::Status {
    Composite optional{.kind = Composite::Kind::kOptional};
    if (context.has_input(0)) {
      ASSIGN_OR_RETURN(Tensor value, Tensor::CopyOf(context.input(0)));
      optional.items.push_back(std::move(value));
    }
    return context.SetOutput(0, MakeComposite(std::move(optional)));
  });
}

absl::Status InferHasElement(InferenceContext& context) {
  context.SetOutput(0, ElementType::kBool, SymbolicShape(std::vector<Dim>{}));
  return absl::OkStatus();
}

// What is no optional is there, so it has an element.
absl::StatusOr<std::unique_ptr<Kernel>> MakeHasElement(const NodeSpec&) {
  return MakeKernel([](KernelContext& context) {
    const bool given = context.has_input(0);
    const TensorView& x = context.input(0);
    *context.output(0).as<bool>() = given && (!HoldsOptional(x) || CompositeOf(x).has_value());
    return absl::OkStatus();
  });
}

absl::Status InferGetElement(InferenceContext& context) {
  const ValueType& type = context.input_type(0);
  if (!type.is_optional()) {
    context.SetOutput(0, type);
  } else {
    context.SetOutput(0, type.inner != nullptr ? *type.inner : ValueType{});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> MakeGetElement(const NodeSpec&) {
  return MakeKernel([](KernelContext& context) -> absl::Status {
    const TensorView& x = context.input(0);
    if (!HoldsOptional(x)) {
      ASSIGN_OR_RETURN(Tensor value, Tensor::CopyOf(x));
      return context.SetOutput(0, std::move(value));
    }
    if (!CompositeOf(x).has_value()) return absl::InvalidArgumentError("the optional is empty");
    return context.SetOutput(0, CompositeOf(x).items[0]);
  });
}

}  // namespace

void RegisterOptionalOps(OpRegistry& registry) {
  registry.Register({.name = "Optional",
                     .version = 15,
                     .oldest_version = 15,
                     .inputs = {OptionalParameter("input", "", kAnything)},
                     .outputs = {RequiredParameter("output", "", kOptional)},
                     .attributes = {{"type", AttributeSpec::Kind::kType}},
                     .infer = InferOptional,
                     .reference = MakeOptional});
  registry.Register({.name = "OptionalHasElement",
                     .version = 18,
                     .oldest_version = 15,
                     .inputs = {OptionalParameter("input", "", kAnything)},
                     .outputs = {RequiredParameter("output", "", {ElementType::kBool})},
                     .infer = InferHasElement,
                     .reference = MakeHasElement});
  registry.Register({.name = "OptionalGetElement",
                     .version = 18,
                     .oldest_version = 15,
                     .inputs = {RequiredParameter("input", "", kAnything)},
                     .outputs = {RequiredParameter("output", "", {})},
                     .infer = InferGetElement,
                     .reference = MakeGetElement,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
