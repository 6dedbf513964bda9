#include "engine/ops/recurrent_activation.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/ops/recurrent_math.h"
#include "engine/ops/scalar_functions.h"

namespace inferd::engine {
namespace {

using Kind = RecurrentActivation::Kind;

// A function by its name in lower case, which of alpha and beta it takes and their defaults.
struct NamedFunction {
  absl::string_view name;
  Kind kind;
  bool takes_alpha;
  bool takes_beta;
  float alpha;
  float beta;
};

constexpr NamedFunction kFunctions[] = {
    {"relu", Kind::kRelu, false, false, 0, 0},
    {"tanh", Kind::kTanh, false, false, 0, 0},
    {"sigmoid", Kind::kSigmoid, false, false, 0, 0},
    {"affine", Kind::kAffine, true, true, 1, 0},
    {"leakyrelu", Kind::kLeakyRelu, true, false, 0.01f, 0},
    {"thresholdedrelu", Kind::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", Kind::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", Kind::kHardSigmoid, true, true, 0.2f, 0.5f},
    {"elu", Kind::kElu, true, false, 1, 0},
    {"softsign", Kind::kSoftsign, false, false, 0, 0},
    {"softplus", Kind::kSoftplus, false, false, 0, 0},
};

const NamedFunction* FindFunction(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  for (const NamedFunction& function : kFunctions) {
    if (function.name == lower) return &function;
  }
  return nullptr;
}

template <typename C, typename Fn>
void ForEach(C* values, int64_t count, Fn fn) {
  for (int64_t i = 0; i < count; ++i) values[i] = fn(values[i]);
}

template <typename C>
void ApplyTo(const RecurrentActivation& f, C* values, int64_t count) {
  const C alpha = f.alpha, beta = f.beta;
  switch (f.kind) {
    case Kind::kRelu:
      return ForEach(values, count, scalar::Relu{});
    case Kind::kTanh:
      return TanhInPlace(values, count);
    case Kind::kSigmoid:
      return SigmoidInPlace(values, count);
    case Kind::kAffine:
      return ForEach(values, count, [=](C x) { return alpha * x + beta; });
    case Kind::kLeakyRelu:
      return ForEach(values, count, scalar::LeakyRelu{f.alpha});
    case Kind::kThresholdedRelu:
      // Unlike the operator of this name, the threshold itself passes.
      return ForEach(values, count, [=](C x) { return x < alpha ? C{0} : x; });
    case Kind::kScaledTanh:
      return ForEach(values, count, [=](C x) { return alpha * std::tanh(beta * x); });
    case Kind::kHardSigmoid:
      return ForEach(values, count, scalar::HardSigmoid{f.alpha, f.beta});
    case Kind::kElu:
      return ForEach(values, count, scalar::Elu{f.alpha});
    case Kind::kSoftsign:
      return ForEach(values, count, scalar::Softsign{});
    case Kind::kSoftplus:
      return ForEach(values, count, scalar::Softplus{});
  }
}

}  // namespace

void RecurrentActivation::Apply(float* values, int64_t count) const {
  ApplyTo(*this, values, count);
}
void RecurrentActivation::Apply(double* values, int64_t count) const {
  ApplyTo(*this, values, count);
}

absl::StatusOr<std::vector<RecurrentActivation>> RecurrentActivations(
    const Attributes& attributes, absl::Span<const absl::string_view> defaults, int directions) {
  const size_t wanted = defaults.size() * directions;
  std::vector<std::string> names = attributes.GetStrings("activations");
  if (names.empty()) {
    for (int d = 0; d < directions; ++d) {
      for (absl::string_view name : defaults) names.emplace_back(name);
    }
  }
  // The standard's own default of RNN names a function for each of two directions whatever the
  // direction is.
  if (names.size() != wanted && !(directions == 1 && names.size() == 2 * wanted)) {
    return absl::InvalidArgumentError(absl::StrCat("attribute activations names ", names.size(),
                                                   " functions, expected ", wanted));
  }
  const std::vector<float> alphas = attributes.GetFloats("activation_alpha");
  const std::vector<float> betas = attributes.GetFloats("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  std::vector<RecurrentActivation> result;
  for (size_t i = 0; i < wanted; ++i) {
    const NamedFunction* function = FindFunction(names[i]);
    if (function == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute activations holds \"", names[i],
          "\", expected Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, "
          "HardSigmoid, Elu, Softsign or Softplus"));
    }
    RecurrentActivation& f = result.emplace_back();
    f = {function->kind, function->alpha, function->beta};
    if (function->takes_alpha && next_alpha < alphas.size()) f.alpha = alphas[next_alpha++];
    if (function->takes_beta && next_beta < betas.size()) f.beta = betas[next_beta++];
  }
  return result;
}

}  // namespace inferd::engine
