// Logic on bool and on bits, with broadcast: And Or Xor BitwiseAnd BitwiseOr BitwiseXor BitShift.
#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/broadcasting_op.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/shape_functions.h"
#include "engine/ops/since.h"

namespace inferd::engine {
namespace {

using KernelOr = absl::StatusOr<std::unique_ptr<Kernel>>;

template <typename Fn>
KernelOr BoolReference(const NodeSpec& spec) {
  return BinaryKernelFor<void, Fn, bool>(spec, Fn{});
}

template <typename Fn>
KernelOr IntegerReference(const NodeSpec& spec) {
  return BinaryKernelFor<void, Fn, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                         uint64_t>(spec, Fn{});
}

absl::Status InferBitShift(InferenceContext& context) {
  const std::string direction = context.attributes().GetString("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute direction is \"", direction, "\", expected \"LEFT\" or \"RIGHT\""));
  }
  return InferBroadcast(context);
}

KernelOr BitShiftReference(const NodeSpec& spec) {
  return spec.attributes().GetString("direction", "") == "LEFT"
             ? IntegerReference<scalar::ShiftLeft>(spec)
             : IntegerReference<scalar::ShiftRight>(spec);
}

}  // namespace

void RegisterLogicalOps(OpRegistry& registry) {
  const ElementTypeSet kBools = {ElementType::kBool};
  registry.Register(BinaryOp("And", 7, kBools, BoolReference<scalar::And>));
  registry.Register(BinaryOp("Or", 7, kBools, BoolReference<scalar::Or>));
  registry.Register(BinaryOp("Xor", 7, kBools, BoolReference<scalar::Xor>));

  using type_sets::kIntegers;
  registry.Register(
      Since(18, BinaryOp("BitwiseAnd", 18, kIntegers, IntegerReference<scalar::BitwiseAnd>)));
  registry.Register(
      Since(18, BinaryOp("BitwiseOr", 18, kIntegers, IntegerReference<scalar::BitwiseOr>)));
  registry.Register(
      Since(18, BinaryOp("BitwiseXor", 18, kIntegers, IntegerReference<scalar::BitwiseXor>)));
  OpDef shift = Since(11, BinaryOp("BitShift", 11, kIntegers, BitShiftReference));
  shift.attributes = {{"direction", AttributeSpec::Kind::kString, true}};
  shift.infer = InferBitShift;
  registry.Register(std::move(shift));
}

}  // namespace inferd::engine
