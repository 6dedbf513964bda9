#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/providers/cpu/vector/kernels.h"
#include "gtest/gtest.h"

namespace inferd::engine::cpu {
namespace {

// Distance in representable floats.
int64_t UlpDistance(float a, float b) {
  if (a == b) return 0;
  auto ordered = [](float f) {
    int32_t i;
    std::memcpy(&i, &f, sizeof(i));
    return i < 0 ? std::numeric_limits<int32_t>::min() - static_cast<int64_t>(i) : int64_t{i};
  };
  return std::abs(ordered(a) - ordered(b));
}

std::vector<float> Sweep() {
  std::vector<float> x;
  for (float v = 1e-30f; v < 120.0f; v *= 1.0013f) {
    x.push_back(v);
    x.push_back(-v);
  }
  for (float v = -105.0f; v < 90.0f; v += 0.0173f) x.push_back(v);
  return x;
}

struct Accuracy {
  const char* name;
  UnaryFunction function;
  double (*exact)(double);
  int64_t max_ulp;
  float lowest = -200;
};

double Sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double Silu(double x) { return x * Sigmoid(x); }
double Softplus(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); }
double Mish(double x) { return x * std::tanh(Softplus(x)); }

// The bounds stated in vector/kernels-inl.h, against double precision, on every instruction set.
TEST(VectorKernels, TranscendentalsAreWithinTheirBounds) {
  const Accuracy cases[] = {
      {"exp", UnaryFunction::kExp, [](double x) { return std::exp(x); }, 2},
      {"tanh", UnaryFunction::kTanh, [](double x) { return std::tanh(x); }, 3},
      {"sigmoid", UnaryFunction::kSigmoid, Sigmoid, 3},
      // Below, the sigmoid inside is denormal and x times it inherits its error.
      {"silu", UnaryFunction::kSilu, Silu, 4, -85},
      {"erf", UnaryFunction::kErf, [](double x) { return std::erf(x); }, 3},
      {"softplus", UnaryFunction::kSoftplus, Softplus, 4},
      {"mish", UnaryFunction::kMish, Mish, 6, -85},
  };
  const std::vector<float> x = Sweep();
  std::vector<float> y(x.size());
  for (const auto* const* kernels = AllVectorKernels(); *kernels != nullptr; ++kernels) {
    for (const Accuracy& a : cases) {
      (*kernels)->unary[static_cast<int>(a.function)](x.data(), y.data(), x.size(), 0, 0);
      int64_t worst = 0;
      float where = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        if (x[i] < a.lowest) continue;
        const int64_t ulp = UlpDistance(y[i], static_cast<float>(a.exact(x[i])));
        if (ulp > worst) worst = ulp, where = x[i];
      }
      EXPECT_LE(worst, a.max_ulp) << a.name << " on " << (*kernels)->isa << " at " << where;
    }
  }
}

// Relative to x: far below zero the function is the small rest of a larger exponent.
TEST(VectorKernels, GeluIsWithinItsBound) {
  const std::vector<float> x = Sweep();
  std::vector<float> y(x.size());
  for (const auto* const* kernels = AllVectorKernels(); *kernels != nullptr; ++kernels) {
    (*kernels)->unary[static_cast<int>(UnaryFunction::kGelu)](x.data(), y.data(), x.size(), 0, 0);
    for (size_t i = 0; i < x.size(); ++i) {
      const double v = x[i], exact = 0.5 * v * std::erfc(-v * std::sqrt(0.5));
      EXPECT_NEAR(y[i], exact, 0x1p-22 * std::abs(v)) << (*kernels)->isa << " at " << v;
    }
  }
}

TEST(VectorKernels, SpecialValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {kInf, -kInf, nan, 0.0f, 89.5f, -110.0f};
  for (const auto* const* kernels = AllVectorKernels(); *kernels != nullptr; ++kernels) {
    SCOPED_TRACE((*kernels)->isa);
    auto run = [&](UnaryFunction function) {
      std::vector<float> y(x.size());
      (*kernels)->unary[static_cast<int>(function)](x.data(), y.data(), x.size(), 0, 0);
      EXPECT_TRUE(std::isnan(y[2]));
      return y;
    };
    const auto e = run(UnaryFunction::kExp);
    EXPECT_EQ(e[0], kInf);
    EXPECT_EQ(e[1], 0.0f);
    EXPECT_EQ(e[3], 1.0f);
    EXPECT_EQ(e[4], kInf);
    EXPECT_EQ(e[5], 0.0f);
    const auto t = run(UnaryFunction::kTanh);
    EXPECT_EQ(t[0], 1.0f);
    EXPECT_EQ(t[1], -1.0f);
    EXPECT_EQ(t[3], 0.0f);
    const auto s = run(UnaryFunction::kSigmoid);
    EXPECT_EQ(s[0], 1.0f);
    EXPECT_EQ(s[1], 0.0f);
    EXPECT_EQ(s[3], 0.5f);
    run(UnaryFunction::kRelu);
    run(UnaryFunction::kLeakyRelu);
  }
}

TEST(VectorKernels, SumOfOddCounts) {
  for (const auto* const* kernels = AllVectorKernels(); *kernels != nullptr; ++kernels) {
    for (const int lanes : {1, 8, 16}) {
      for (const int64_t positions : {1, 3, 17, 49, 100}) {
        std::vector<float> x(positions * lanes);
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) - 5.0f;
        std::vector<float> sums(lanes, -1.0f), expected(lanes, 0.0f);
        for (size_t i = 0; i < x.size(); ++i) expected[i % lanes] += x[i];
        (*kernels)->sum[LaneCountOf(lanes)](x.data(), positions, sums.data());
        EXPECT_EQ(sums, expected) << (*kernels)->isa << " " << lanes << " x " << positions;
      }
    }
  }
}

}  // namespace
}  // namespace inferd::engine::cpu
