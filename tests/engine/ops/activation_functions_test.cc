// Activations against their formulas, evaluated in double.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  const char* op;
  std::vector<std::pair<std::string, float>> attributes;
  std::function<double(double)> formula;
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return std::log1p(std::exp(x)); }

std::vector<Case> Cases() {
  return {
      {"Relu", {}, [](double x) { return std::max(x, 0.0); }},
      {"LeakyRelu", {{"alpha", 0.1f}}, [](double x) { return x < 0 ? 0.1f * x : x; }},
      {"ThresholdedRelu", {{"alpha", 0.5f}}, [](double x) { return x > 0.5 ? x : 0; }},
      {"Elu", {{"alpha", 2}}, [](double x) { return x < 0 ? 2 * std::expm1(x) : x; }},
      {"Celu", {{"alpha", 2}}, [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }},
      {"Selu",
       {},
       [](double x) {
         return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
       }},
      {"Sigmoid", {}, Sigmoid},
      {"HardSigmoid",
       {{"alpha", 0.25f}, {"beta", 0.4f}},
       [](double x) { return std::clamp(0.25 * x + 0.4f, 0.0, 1.0); }},
      {"HardSwish", {}, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"Softplus", {}, Softplus},
      {"Softsign", {}, [](double x) { return x / (1 + std::abs(x)); }},
      {"Mish", {}, [](double x) { return x * std::tanh(Softplus(x)); }},
      {"Swish", {{"alpha", 1.5f}}, [](double x) { return x * Sigmoid(1.5 * x); }},
      {"Gelu", {}, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
  };
}

TEST(ActivationTest, FollowTheirFormulas) {
  const Tensor x = RandomFloats({2, 3, 40}, 1, -8, 8);
  for (const Case& c : Cases()) {
    OpTester tester(c.op);
    for (const auto& [name, value] : c.attributes) tester.Attr(name, value);
    tester.Input(x);
    ASSERT_OK_AND_ASSIGN(const Tensor y, tester.Run1());
    std::vector<float> expected;
    for (float v : x.values<float>()) expected.push_back(static_cast<float>(c.formula(v)));
    EXPECT_TRUE(TensorsClose(y, Tensor::FromValues<float>(x.shape(), expected), 1e-7, 1e-6))
        << c.op;
  }
}

TEST(ActivationTest, GeluTanhIsItsOwnFormula) {
  const Tensor x = RandomFloats({64}, 2, -4, 4);
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       OpTester("Gelu").Attr("approximate", std::string("tanh")).Input(x).Run1());
  std::vector<float> expected;
  for (double v : x.values<float>()) {
    const double inner = std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
    expected.push_back(static_cast<float>(0.5 * v * (1 + std::tanh(inner))));
  }
  EXPECT_TRUE(TensorsClose(y, Tensor::FromValues<float>({64}, expected), 1e-7, 1e-5));
  EXPECT_THAT(OpTester("Gelu").Attr("approximate", std::string("fast")).Input(x).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"none\" or \"tanh\"")));
}

TEST(ActivationTest, ExtremesNeitherOverflowNorLoseNan) {
  const Tensor x = MakeTensor<float>({5}, {-kInf, -1000, 1000, kInf, kNan});
  const std::pair<const char*, std::vector<float>> cases[] = {
      {"Sigmoid", {0, 0, 1, 1, kNan}},     {"Softplus", {0, 0, 1000, kInf, kNan}},
      {"Relu", {0, 0, 1000, kInf, kNan}},  {"Gelu", {0, 0, 1000, kInf, kNan}},
      {"Elu", {-1, -1, 1000, kInf, kNan}}, {"HardSigmoid", {0, 0, 1, 1, kNan}},
      {"Tanh", {-1, -1, 1, 1, kNan}}};
  for (const auto& [op, expected] : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester(op).Input(x).Run1());
    EXPECT_TRUE(TensorsClose(y, Tensor::FromValues<float>({5}, expected))) << op;
  }
}

TEST(ActivationTest, OtherTypes) {
  ASSERT_OK_AND_ASSIGN(const Tensor ints,
                       OpTester("Relu").Input(MakeTensor<int32_t>({3}, {-2, 0, 7})).Run1());
  EXPECT_THAT(ints, TensorIs<int32_t>({3}, {0, 0, 7}));
  ASSERT_OK_AND_ASSIGN(const Tensor half,
                       OpTester("HardSwish").Input(MakeFrom<Float16>({3}, {-4, 1.5f, 4})).Run1());
  EXPECT_THAT(half, TensorIsFrom<Float16>({3}, {0, 1.125f, 4}));
  ASSERT_OK_AND_ASSIGN(const Tensor wide,
                       OpTester("Sigmoid").Input(MakeTensor<double>({1}, {0.25})).Run1());
  EXPECT_THAT(wide, TensorIs<double>({1}, {0.5621765008857981}, 1e-15));
}

TEST(ActivationTest, CeluNeedsAnAlpha) {
  EXPECT_THAT(
      OpTester("Celu").Attr("alpha", 0.0f).Input(MakeTensor<float>({1}, {1})).Run().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("alpha")));
}

}  // namespace
}  // namespace inferd::engine
