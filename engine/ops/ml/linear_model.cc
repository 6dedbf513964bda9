#include "engine/ops/ml/linear_model.h"

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/parsed_attributes.h"
#include "engine/status_macros.h"

namespace inferd::engine {

namespace {

absl::StatusOr<LinearWeights> ReadWeights(const Attributes& attributes) {
  return LinearWeights{attributes.GetFloats("coefficients"), attributes.GetFloats("intercepts")};
}

}  // namespace

absl::StatusOr<LinearModel> ReadLinearModel(const NodeSpec& spec, int64_t features, int64_t outputs,
                                            SurplusCoefficients surplus) {
  LinearModel m{features, outputs, nullptr};
  ASSIGN_OR_RETURN(m.weights, ParseAttributesOnce<LinearWeights>(spec, ReadWeights));
  const int64_t coefficients = static_cast<int64_t>(m.weights->coefficients.size());
  const int64_t intercepts = static_cast<int64_t>(m.weights->intercepts.size());
  const bool fit = outputs >= 1 && coefficients / outputs >= features &&
                   (coefficients == outputs * features || surplus == SurplusCoefficients::kIgnore);
  if (!fit) {
    return absl::InvalidArgumentError(absl::StrCat("attribute coefficients has ", coefficients,
                                                   " values, expected ", outputs, " outputs times ",
                                                   features, " features"));
  }
  if (intercepts != 0 && intercepts != outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute intercepts has ", intercepts, " values, expected ", outputs));
  }
  return m;
}

}  // namespace inferd::engine
