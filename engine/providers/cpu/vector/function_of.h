// From operators and fused activations to the loops that compute them.
#pragma once

#include <optional>

#include "absl/container/inlined_vector.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/fused_activation.h"
#include "engine/providers/cpu/vector/kernels.h"

namespace inferd::engine::cpu {

struct UnaryStep {
  UnaryFunction function;
  float alpha = 0;
  float beta = 0;
};
using UnaryChain = absl::InlinedVector<UnaryStep, 3>;

UnaryStep StepOf(const Activation& activation);
UnaryChain StepsOf(const ActivationChain& chain);

// The function of a unary elementwise node; nullopt where there is no loop for it or its
// parameters are not constant.
std::optional<UnaryStep> UnaryFunctionOf(const NodeSpec& spec);
// The function of an elementwise node of two inputs; nullopt where there is none.
std::optional<BinaryFunction> BinaryFunctionOf(const NodeSpec& spec);

}  // namespace inferd::engine::cpu
