// BitCast: the same bits as another element type of the same width.
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"

namespace inferd::engine {
namespace {

absl::Status InferBitCast(InferenceContext& context) {
  const int64_t code = context.attributes().GetInt("to", 0);
  const std::optional<ElementType> to = code >= 0 && code <= INT32_MAX
                                            ? ElementTypeFromOnnx(static_cast<int32_t>(code))
                                            : std::nullopt;
  if (!to.has_value() || *to == ElementType::kString || !kAllElementTypes.contains(*to)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute to is ", code, ", expected the number of an element type other than string"));
  }
  const ElementType from = context.element_type(0);
  if (from != ElementType::kUndefined && ElementBits(from) != ElementBits(*to)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "attribute to is ", ElementTypeName(*to), " of ", ElementBits(*to),
        " bits, but input 0 holds ", ElementTypeName(from), " of ", ElementBits(from), " bits"));
  }
  context.SetOutput(0, *to, context.shape(0));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& /*spec*/) {
  return MakeKernel([](KernelContext& context) {
    const TensorView& x = context.input(0);
    const TensorView& y = context.output(0);
    const auto* from = static_cast<const unsigned char*>(x.data);
    auto* to = static_cast<unsigned char*>(y.data);
    if (y.type == ElementType::kBool) {
      // A bool object must hold 0 or 1.
      for (int64_t i = 0; i < x.num_bytes(); ++i) to[i] = from[i] != 0;
    } else {
      std::copy_n(from, x.num_bytes(), to);
    }
    return absl::OkStatus();
  });
}

constexpr ElementTypeSet Castable() {
  ElementTypeSet types;
  for (int i = 1; i < kNumElementTypes; ++i) {
    const ElementType type = static_cast<ElementType>(i);
    if (type != ElementType::kString && kAllElementTypes.contains(type)) {
      types = types | ElementTypeSet{type};
    }
  }
  return types;
}

}  // namespace

void RegisterBitCastOps(OpRegistry& registry) {
  registry.Register({.name = "BitCast",
                     .version = 26,
                     .oldest_version = 26,
                     .inputs = {RequiredParameter("input", "T1", Castable())},
                     .outputs = {RequiredParameter("output", "T2", Castable())},
                     .attributes = {{"to", AttributeSpec::Kind::kInt, true}},
                     .infer = InferBitCast,
                     .reference = Reference});
}

}  // namespace inferd::engine
