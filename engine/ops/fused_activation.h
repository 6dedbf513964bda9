// Activations fused behind another operator: the attribute form every fused operator carries, and
// what each one computes. Passes write it, kernels of every provider read it.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ir/attribute.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

// Formulas are those of the ONNX operator of the same name.
enum class ActivationKind : uint8_t {
  kRelu,       // max(x, 0)
  kLeakyRelu,  // x < 0 ? alpha x : x
  kClip,       // min(max(x, alpha), beta)
  kSigmoid,    // 1 / (1 + e^-x)
  kTanh,
  kElu,          // x < 0 ? alpha (e^x - 1) : x
  kHardSigmoid,  // max(0, min(1, alpha x + beta))
  kHardSwish,    // x max(0, min(1, x / 6 + 1 / 2))
  kSilu,         // x sigmoid(x)
  kGelu,         // x / 2 (1 + erf(x / sqrt 2))
  kGeluTanh,     // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  kSoftplus,     // log(1 + e^x)
  kMish,         // x tanh(softplus(x))
};

struct Activation {
  ActivationKind kind = ActivationKind::kRelu;
  float alpha = 0;
  float beta = 0;

  float Apply(float x) const;
  // True where Apply(0) is 0, so that zero padding lanes stay zero.
  bool keeps_zero() const { return Apply(0.0f) == 0.0f; }
};

// Applied first to last.
using ActivationChain = absl::InlinedVector<Activation, 2>;

// "relu", "leaky_relu", ...
absl::string_view ActivationName(ActivationKind kind);

// The chain a fused node carries: `activations` names them, `activation_params` holds alpha and
// beta of each. INVALID_ARGUMENT for an unknown name or a count that does not fit.
absl::StatusOr<ActivationChain> ReadActivations(const Attributes& attributes);
void WriteActivations(const ActivationChain& chain, Attributes* attributes);
// Their schema, for the operators that carry them.
inline constexpr AttributeSpec kActivationsAttribute = {"activations",
                                                        AttributeSpec::Kind::kStrings};
inline constexpr AttributeSpec kActivationParamsAttribute = {"activation_params",
                                                             AttributeSpec::Kind::kFloats};

inline float ApplyAll(const ActivationChain& chain, float x) {
  for (const Activation& activation : chain) x = activation.Apply(x);
  return x;
}

}  // namespace inferd::engine
