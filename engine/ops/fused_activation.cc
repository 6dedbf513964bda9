#include "engine/ops/fused_activation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/ops/scalar_functions.h"

namespace inferd::engine {
namespace {

struct Name {
  ActivationKind kind;
  absl::string_view text;
};
constexpr std::array<Name, 13> kNames = {{
    {ActivationKind::kRelu, "relu"},
    {ActivationKind::kLeakyRelu, "leaky_relu"},
    {ActivationKind::kClip, "clip"},
    {ActivationKind::kSigmoid, "sigmoid"},
    {ActivationKind::kTanh, "tanh"},
    {ActivationKind::kElu, "elu"},
    {ActivationKind::kHardSigmoid, "hard_sigmoid"},
    {ActivationKind::kHardSwish, "hard_swish"},
    {ActivationKind::kSilu, "silu"},
    {ActivationKind::kGelu, "gelu"},
    {ActivationKind::kGeluTanh, "gelu_tanh"},
    {ActivationKind::kSoftplus, "softplus"},
    {ActivationKind::kMish, "mish"},
}};

}  // namespace

float Activation::Apply(float x) const {
  switch (kind) {
    case ActivationKind::kRelu:
      return scalar::Relu{}(x);
    case ActivationKind::kLeakyRelu:
      return scalar::LeakyRelu{alpha}(x);
    case ActivationKind::kClip: {
      // A NaN passes through, as in Clip itself.
      const float low = x < alpha ? alpha : x;
      return low > beta ? beta : low;
    }
    case ActivationKind::kSigmoid:
      return scalar::Sigmoid{}(x);
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kElu:
      return scalar::Elu{alpha}(x);
    case ActivationKind::kHardSigmoid:
      return scalar::HardSigmoid{alpha, beta}(x);
    case ActivationKind::kHardSwish:
      return scalar::HardSwish{}(x);
    case ActivationKind::kSilu:
      return scalar::Swish{1.0f}(x);
    case ActivationKind::kGelu:
      return scalar::GeluErf{}(x);
    case ActivationKind::kGeluTanh:
      return scalar::GeluTanh{}(x);
    case ActivationKind::kSoftplus:
      return scalar::Softplus{}(x);
    case ActivationKind::kMish:
      return scalar::Mish{}(x);
  }
  return x;
}

absl::string_view ActivationName(ActivationKind kind) {
  for (const Name& name : kNames) {
    if (name.kind == kind) return name.text;
  }
  return "unknown";
}

absl::StatusOr<ActivationChain> ReadActivations(const Attributes& attributes) {
  const std::vector<std::string> names = attributes.GetStrings("activations");
  const std::vector<float> params = attributes.GetFloats("activation_params");
  if (params.size() != 2 * names.size()) {
    return absl::InvalidArgumentError(absl::StrCat("activation_params: found ", params.size(),
                                                   " values, expected two for each of ",
                                                   names.size(), " activations"));
  }
  ActivationChain chain;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto entry = std::find_if(kNames.begin(), kNames.end(),
                                    [&](const Name& name) { return name.text == names[i]; });
    if (entry == kNames.end()) {
      return absl::InvalidArgumentError(absl::StrCat("activations: unknown name '", names[i], "'"));
    }
    chain.push_back({entry->kind, params[2 * i], params[2 * i + 1]});
  }
  return chain;
}

void WriteActivations(const ActivationChain& chain, Attributes* attributes) {
  if (chain.empty()) {
    attributes->Erase("activations");
    attributes->Erase("activation_params");
    return;
  }
  std::vector<std::string> names;
  std::vector<float> params;
  for (const Activation& activation : chain) {
    names.emplace_back(ActivationName(activation.kind));
    params.push_back(activation.alpha);
    params.push_back(activation.beta);
  }
  attributes->Set("activations", std::move(names));
  attributes->Set("activation_params", std::move(params));
}

}  // namespace inferd::engine
