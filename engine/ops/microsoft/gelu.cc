// com.microsoft::Gelu, BiasGelu, FastGelu and QuickGelu: Gaussian error linear units, exact or
// approximated, of a sum with a bias of the last dimension.
//   https://arxiv.org/abs/1606.08415
#include <memory>

#include "engine/ops/all_ops.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat64,
                                   ElementType::kFloat16, ElementType::kBfloat16};

// Fn of the sum of two operands.
template <typename Fn>
struct OfSum {
  template <typename T>
  T operator()(T x, T bias) const {
    return Fn{}(x + bias);
  }
};

absl::Status InferBiased(InferenceContext& context) {
  context.SetOutput(0, context.input_type(0));
  if (!context.has_input(1)) return absl::OkStatus();
  RETURN_IF_ERROR(ExpectRank(context, 0, 1));
  RETURN_IF_ERROR(ExpectRank(context, 1, 1, 1));
  const SymbolicShape& x = context.shape(0);
  if (!x.has_rank()) return absl::OkStatus();
  Dim columns = x[x.rank() - 1];
  return MergeInputDim(context, 1, 0, "the last dimension of input 0", columns);
}

template <typename Fn>
absl::StatusOr<std::unique_ptr<Kernel>> Biased(const NodeSpec& spec) {
  if (!spec.has_input(1)) {
    return UnaryKernelFor<void, Fn, float, double, Float16, BFloat16>(spec, Fn{});
  }
  return BinaryKernelFor<void, OfSum<Fn>, float, double, Float16, BFloat16>(spec, OfSum<Fn>{});
}

absl::StatusOr<std::unique_ptr<Kernel>> Quick(const NodeSpec& spec) {
  scalar::Swish fn;
  fn.alpha = spec.attributes().GetFloat("alpha", 1.702f);
  return UnaryKernelFor<void, scalar::Swish, float, double, Float16, BFloat16>(spec, fn);
}

}  // namespace

void RegisterMicrosoftGeluOps(OpRegistry& registry) {
  const auto add = [&](const char* name, std::vector<FormalParameter> inputs, InferFn infer,
                       ReferenceFn reference, std::vector<AttributeSpec> attributes = {}) {
    registry.Register({.domain = "com.microsoft",
                       .name = name,
                       .inputs = std::move(inputs),
                       .outputs = {RequiredParameter("Y", "T", kTypes)},
                       .attributes = std::move(attributes),
                       .infer = infer,
                       .reference = reference,
                       .in_place_inputs = {0},
                       .is_elementwise = true});
  };
  const FormalParameter x = RequiredParameter("X", "T", kTypes);
  add("Gelu", {x}, InferSameAsInput, Biased<scalar::GeluErf>);
  add("BiasGelu", {x, RequiredParameter("B", "T", kTypes)}, InferBiased, Biased<scalar::GeluErf>);
  add("FastGelu", {x, OptionalParameter("bias", "T", kTypes)}, InferBiased,
      Biased<scalar::GeluTanh>);
  add("QuickGelu", {x}, InferSameAsInput, Quick, {{"alpha", AttributeSpec::Kind::kFloat}});
}

}  // namespace inferd::engine
