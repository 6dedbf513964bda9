// Linear scores of a table, for LinearClassifier and LinearRegressor.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace inferd::engine {

struct NodeSpec;  // engine/kernel/kernel.h

struct LinearWeights {
  std::vector<float> coefficients;
  std::vector<float> intercepts;  // one per output, or none
};

// scores[k] = sum(coefficients[k * features + f] * row[f]) + intercepts[k].
struct LinearModel {
  int64_t features = 0;
  int64_t outputs = 0;
  std::shared_ptr<const LinearWeights> weights;  // of all plans of the node

  template <typename T>
  void Score(const T* row, absl::Span<double> scores) const {
    const float* coefficients = weights->coefficients.data();
    const std::vector<float>& intercepts = weights->intercepts;
    for (int64_t k = 0; k < outputs; ++k) {
      double sum = 0;
      for (int64_t f = 0; f < features; ++f) {
        sum += static_cast<double>(row[f]) * coefficients[k * features + f];
      }
      scores[k] = intercepts.empty() ? sum : sum + intercepts[k];
    }
  }
};

// Whether a model may have more coefficients than outputs times features.
enum class SurplusCoefficients : uint8_t { kRefuse, kIgnore };

// From the attributes coefficients and intercepts. INVALID_ARGUMENT where their counts do not fit.
absl::StatusOr<LinearModel> ReadLinearModel(const NodeSpec& spec, int64_t features, int64_t outputs,
                                            SurplusCoefficients surplus);

}  // namespace inferd::engine
