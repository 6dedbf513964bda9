#include "engine/ops/ml/post_transform.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace inferd::engine {
namespace {

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Inverse of the error function: a rational start value refined by Newton's method on erf.
double InverseErf(double x) {
  if (x <= -1 || x >= 1) {
    return x == 1 ? INFINITY : x == -1 ? -INFINITY : std::nan("");
  }
  // S. Winitzki, "A handy approximation for the error function and its inverse" (2008).
  constexpr double kA = 0.147;
  const double ln = std::log((1 - x) * (1 + x));
  const double t = 2 / (M_PI * kA) + ln / 2;
  double y = std::copysign(std::sqrt(std::sqrt(t * t - ln / kA) - t), x);
  for (int i = 0; i < 4; ++i) {
    const double slope = 2 / std::sqrt(M_PI) * std::exp(-y * y);
    if (slope < 1e-300) break;
    y -= (std::erf(y) - x) / slope;
  }
  return y;
}

// The quantile function of the normal distribution.
double Probit(double x) { return std::sqrt(2.0) * InverseErf(2 * x - 1); }

// With `zero_stays`, scores of 0 are taken as absent: they get no share of the sum.
void Softmax(absl::Span<double> scores, bool zero_stays) {
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& s : scores) {
    if (zero_stays && std::abs(s) <= 1e-7) {
      s *= std::exp(-max);
    } else {
      s = std::exp(s - max);
      sum += s;
    }
  }
  if (sum == 0) return;
  for (double& s : scores) s /= sum;
}

}  // namespace

absl::StatusOr<PostTransform> ReadPostTransform(const Attributes& attributes) {
  const std::string name = attributes.GetString("post_transform", "NONE");
  if (name == "NONE") return PostTransform::kNone;
  if (name == "SOFTMAX") return PostTransform::kSoftmax;
  if (name == "LOGISTIC") return PostTransform::kLogistic;
  if (name == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (name == "PROBIT") return PostTransform::kProbit;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute post_transform is \"", name,
                   "\", expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT"));
}

void ApplyPostTransform(PostTransform transform, absl::Span<double> scores) {
  if (scores.empty()) return;
  switch (transform) {
    case PostTransform::kNone:
      return;
    case PostTransform::kSoftmax:
      return Softmax(scores, false);
    case PostTransform::kSoftmaxZero:
      return Softmax(scores, true);
    case PostTransform::kLogistic:
      for (double& s : scores) s = Logistic(s);
      return;
    case PostTransform::kProbit:
      for (double& s : scores) s = Probit(s);
      return;
  }
}

void ExpandBinaryScore(PostTransform transform, SecondScore second, absl::Span<double> scores) {
  const double s = scores[0];
  if (transform == PostTransform::kLogistic) {
    scores[0] = Logistic(-s);
    scores[1] = Logistic(s);
    return;
  }
  scores[1] = transform == PostTransform::kProbit ? Probit(s) : s;
  scores[0] = second == SecondScore::kOneMinus ? 1 - scores[1] : -scores[1];
}

}  // namespace inferd::engine
