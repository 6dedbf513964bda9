#include "engine/ops/ml/linear_model.h"

#include "absl/strings/str_cat.h"

namespace inferd::engine {

absl::StatusOr<LinearModel> ReadLinearModel(const Attributes& attributes, int64_t features,
                                            int64_t outputs, SurplusCoefficients surplus) {
  LinearModel m{features, outputs, attributes.GetFloats("coefficients"),
                attributes.GetFloats("intercepts")};
  const int64_t coefficients = static_cast<int64_t>(m.coefficients.size());
  const int64_t intercepts = static_cast<int64_t>(m.intercepts.size());
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
