#include "engine/ops/ml/pairwise_coupling.h"

#include <algorithm>
#include <cmath>

namespace inferd::engine {

double PairProbability(double decision, double a, double b) {
  const double x = decision * a + b;
  // The same number either way; the exponent is never positive, so that it cannot overflow.
  const double p = x >= 0 ? std::exp(-x) / (1 + std::exp(-x)) : 1 / (1 + std::exp(x));
  // Certainty would leave the coupling without a solution.
  constexpr double kLeast = 1e-7;
  return std::min(std::max(p, kLeast), 1 - kLeast);
}

int64_t PairwiseCouplingScratch(int64_t classes) { return classes * classes + classes; }

// Minimizes sum over i, j of (r_ji p_i - r_ij p_j)^2 under sum(p) = 1. With Q_ii = sum of r_ji^2
// over j and Q_ij = -r_ji r_ij, the minimum is where all elements of Q p are equal, and then each
// is p^T Q p. Coordinates are corrected in turn and the vector is scaled back each time.
void CouplePairs(absl::Span<const double> pairs, absl::Span<double> classes,
                 absl::Span<double> scratch) {
  const int64_t k = static_cast<int64_t>(classes.size());
  const absl::Span<double> q = scratch.subspan(0, k * k);
  const absl::Span<double> qp = scratch.subspan(k * k, k);
  std::fill(q.begin(), q.end(), 0.0);
  int64_t pair = 0;
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = i + 1; j < k; ++j) {
      const double wins = pairs[pair++], losses = 1 - wins;
      q[i * k + i] += losses * losses;
      q[j * k + j] += wins * wins;
      q[i * k + j] = q[j * k + i] = -wins * losses;
    }
  }
  std::fill(classes.begin(), classes.end(), 1.0 / static_cast<double>(k));
  // The customary tolerance and number of rounds: where the iteration stops shows in the result.
  const double tolerance = 0.005 / static_cast<double>(k);
  const int64_t rounds = std::max<int64_t>(100, k);
  for (int64_t round = 0; round < rounds; ++round) {
    double pqp = 0;
    for (int64_t i = 0; i < k; ++i) {
      qp[i] = 0;
      for (int64_t j = 0; j < k; ++j) qp[i] += q[i * k + j] * classes[j];
      pqp += classes[i] * qp[i];
    }
    double worst = 0;
    for (int64_t i = 0; i < k; ++i) worst = std::max(worst, std::abs(qp[i] - pqp));
    if (worst < tolerance) return;
    for (int64_t i = 0; i < k; ++i) {
      const double step = (pqp - qp[i]) / q[i * k + i];
      classes[i] += step;
      const double scale = 1 / (1 + step);
      pqp = (pqp + step * (step * q[i * k + i] + 2 * qp[i])) * scale * scale;
      for (int64_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + step * q[i * k + j]) * scale;
        classes[j] *= scale;
      }
    }
  }
}

}  // namespace inferd::engine
