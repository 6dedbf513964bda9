// How much of the predicted uncertainty to keep in reserve.
#pragma once

#include <algorithm>

namespace inferd::scheduler {

// A factor on the reserve that predictions add for their own error, steered by what came of them:
// every late answer raises it, every timely one lowers it a little, so that it settles where the
// share of late answers is kTargetLate (stochastic approximation of a quantile; Robbins and Monro,
// 1951). Not thread-safe.
class Caution {
 public:
  void OnAnswer(bool late) {
    factor_ += late ? kStep : -kStep * kTargetLate / (1 - kTargetLate);
    factor_ = std::clamp(factor_, kMin, kMax);
  }
  double factor() const { return factor_; }

 private:
  // Half of what a budget for the 99th percentile allows.
  static constexpr double kTargetLate = 0.005;
  static constexpr double kStep = 0.02;
  static constexpr double kMin = 0.3;
  static constexpr double kMax = 1;
  double factor_ = 1;
};

}  // namespace inferd::scheduler
