// Kernel functions of the support vector machines of ai.onnx.ml.
#pragma once

#include <cmath>
#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/ir/attribute.h"

namespace inferd::engine {

// How alike two rows are, by the attributes kernel_type and kernel_params (gamma, coef0, degree).
struct SvmKernel {
  enum class Type : uint8_t {
    kLinear,   // x.v
    kPoly,     // (gamma x.v + coef0)^degree
    kRbf,      // exp(-gamma |x-v|^2)
    kSigmoid,  // tanh(gamma x.v + coef0)
  };

  Type type = Type::kLinear;
  double gamma = 0;
  double coef0 = 0;
  double degree = 0;

  template <typename T>
  double operator()(const T* x, const float* v, int64_t features) const;
};

absl::StatusOr<SvmKernel> ReadSvmKernel(const Attributes& attributes);

// The sum of fn(x[i], v[i]) over i. Independent lanes, so that the compiler may vectorize it.
template <typename T, typename Fn>
double SumOverFeatures(const T* x, const float* v, int64_t features, Fn fn) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= features; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      lanes[l] += fn(static_cast<double>(x[i + l]), static_cast<double>(v[i + l]));
    }
  }
  double sum = 0;
  for (; i < features; ++i) sum += fn(static_cast<double>(x[i]), static_cast<double>(v[i]));
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <typename T>
double DotProduct(const T* x, const float* v, int64_t features) {
  return SumOverFeatures(x, v, features, [](double a, double b) { return a * b; });
}

template <typename T>
double SvmKernel::operator()(const T* x, const float* v, int64_t features) const {
  switch (type) {
    case Type::kLinear:
      return DotProduct(x, v, features);
    case Type::kPoly:
      return std::pow(gamma * DotProduct(x, v, features) + coef0, degree);
    case Type::kRbf:
      return std::exp(-gamma * SumOverFeatures(x, v, features, [](double a, double b) {
        return (a - b) * (a - b);
      }));
    case Type::kSigmoid:
      return std::tanh(gamma * DotProduct(x, v, features) + coef0);
  }
  return 0;
}

}  // namespace inferd::engine
