// SwiGLU: Swish of the gate times the value (https://arxiv.org/abs/2002.05202).
#include "absl/strings/str_cat.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/scalar_functions.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

struct SwiGlu {
  scalar::Swish swish;
  template <typename T>
  T operator()(T gate, T value) const {
    return swish(gate) * value;
  }
};

absl::Status InferSwiGlu(InferenceContext& context) {
  SymbolicShape shape = context.shape(0);
  const SymbolicShape& value = context.shape(1);
  if (!shape.has_rank()) {
    shape = value;
  } else if (value.has_rank()) {
    bool same = shape.rank() == value.rank();
    for (int d = 0; same && d < shape.rank(); ++d) {
      const absl::StatusOr<Dim> merged = MergeDims(shape[d], value[d]);
      same = merged.ok();
      if (same) shape[d] = *merged;
    }
    if (!same) {
      return absl::InvalidArgumentError(absl::StrCat("inputs have shapes ",
                                                     context.shape(0).ToString(), " and ",
                                                     value.ToString(), ", expected equal ones"));
    }
  }
  context.SetOutput(0, context.element_type(0), std::move(shape));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const SwiGlu fn{{spec.attributes().GetFloat("alpha", 1.0f)}};
  return BinaryKernelFor<void, SwiGlu, float, double, Float16, BFloat16>(spec, fn);
}

}  // namespace

void RegisterSwiGluOps(OpRegistry& registry) {
  registry.Register({.name = "SwiGLU",
                     .version = 28,
                     .oldest_version = 28,
                     .inputs = {RequiredParameter("A", "T", type_sets::kFloats),
                                RequiredParameter("B", "T", type_sets::kFloats)},
                     .outputs = {RequiredParameter("Y", "T", type_sets::kFloats)},
                     .attributes = {{"alpha", AttributeSpec::Kind::kFloat}},
                     .infer = InferSwiGlu,
                     .reference = Reference,
                     .in_place_inputs = {0, 1},
                     .is_elementwise = true});
}

}  // namespace inferd::engine
