// The random operators: moments and shares of large samples of fixed seeds, each within six
// standard deviations of what it estimates.
#include <algorithm>
#include <cmath>

#include "engine/ops/counter_random.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSamples = 100000;

struct Moments {
  double mean = 0, variance = 0, low = 1e30, high = -1e30;

  template <typename T>
  explicit Moments(absl::Span<const T> values) {
    const double count = static_cast<double>(values.size());
    for (T v : values) {
      mean += static_cast<double>(static_cast<ComputeType<T>>(v)) / count;
    }
    for (T v : values) {
      const double x = static_cast<ComputeType<T>>(v);
      variance += (x - mean) * (x - mean) / count;
      low = std::min(low, x);
      high = std::max(high, x);
    }
  }
};

OpTester RandomTester(const char* op, float seed) {
  OpTester tester(op);
  tester.Attr("shape", std::vector<int64_t>{kSamples / 10, 10}).Attr("seed", seed);
  return tester;
}

// The known answers of the generator's authors for a counter and a key of all zeros and all ones.
TEST(CounterRandomTest, KnownAnswers) {
  EXPECT_EQ(CounterRandom(0, 0).Block(0),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(CounterRandom(~uint64_t{0}, ~uint64_t{0}).Block(~uint64_t{0}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(RandomNormalTest, MeanAndDeviation) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor y,
      RandomTester("RandomNormal", 1).Attr("mean", 3.0f).Attr("scale", 2.0f).Run1());
  const Moments m(y.values<float>());
  EXPECT_NEAR(m.mean, 3, 6 * 2 / std::sqrt(kSamples));
  EXPECT_NEAR(m.variance, 4, 6 * 4 * std::sqrt(2.0 / kSamples));
  // A share of erf(1 / sqrt 2) lies within one deviation.
  const int64_t within = std::count_if(y.values<float>().begin(), y.values<float>().end(),
                                       [](float v) { return std::abs(v - 3) < 2; });
  EXPECT_NEAR(static_cast<double>(within) / kSamples, 0.68269,
              6 * std::sqrt(0.683 * 0.317 / kSamples));
}

TEST(RandomUniformTest, EveryTypeStaysInItsRange) {
  for (ElementType type : {ElementType::kFloat32, ElementType::kFloat64, ElementType::kFloat16,
                           ElementType::kBfloat16}) {
    ASSERT_OK_AND_ASSIGN(
        const Tensor y,
        RandomTester("RandomUniform", 2).Attr("dtype", static_cast<int64_t>(type)).Run1());
    ASSERT_EQ(y.type(), type);
    DispatchType<float, double, Float16, BFloat16>(type, [&]<typename T>() {
      const Moments m(y.values<T>());
      // The coarsest type has 256 values, their mean being half a step short of 1 / 2.
      EXPECT_NEAR(m.mean, 0.5, 1.0 / 512 + 6 * std::sqrt(1.0 / 12 / kSamples));
      EXPECT_NEAR(m.variance, 1.0 / 12, 6 * std::sqrt(1.0 / 180 / kSamples));
      EXPECT_GE(m.low, 0);
      EXPECT_LT(m.high, 1);
    });
  }
}

TEST(RandomUniformTest, SeedFixesTheResult) {
  const auto draw = [](std::optional<float> seed) {
    OpTester tester("RandomUniformLike");
    if (seed.has_value()) tester.Attr("seed", *seed);
    return tester.Input(RandomFloats({64}, 1)).Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor a, draw(1.5f));
  ASSERT_OK_AND_ASSIGN(const Tensor same, draw(1.5f));
  ASSERT_OK_AND_ASSIGN(const Tensor other, draw(2.5f));
  EXPECT_THAT(same, IsCloseTo(a, 0, 0));
  EXPECT_FALSE(TensorsClose(other, a));
  ASSERT_OK_AND_ASSIGN(const Tensor first, draw(std::nullopt));
  ASSERT_OK_AND_ASSIGN(const Tensor second, draw(std::nullopt));
  EXPECT_FALSE(TensorsClose(second, first));
}

TEST(RandomNormalLikeTest, TypeOfTheInputOrOfDtype) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor half,
      OpTester("RandomNormalLike").Input(MakeFrom<Float16>({2, 3}, {0, 0, 0, 0, 0, 0})).Run1());
  EXPECT_EQ(half.type(), ElementType::kFloat16);
  EXPECT_EQ(half.shape(), (Shape{2, 3}));
  const Tensor text = MakeTensor<std::string>({1}, {"a"});
  ASSERT_OK_AND_ASSIGN(const Tensor real,
                       OpTester("RandomNormalLike").Attr("dtype", int64_t{11}).Input(text).Run1());
  EXPECT_EQ(real.type(), ElementType::kFloat64);
  EXPECT_THAT(OpTester("RandomNormalLike").Input(text).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("dtype")));
}

TEST(BernoulliTest, SharesOfOnes) {
  for (float p : {0.0f, 0.3f, 1.0f}) {
    const Tensor x = Tensor::FromValues<float>({kSamples}, std::vector<float>(kSamples, p));
    ASSERT_OK_AND_ASSIGN(
        const Tensor y,
        OpTester("Bernoulli").Attr("seed", 3.0f).Attr("dtype", int64_t{9}).Input(x).Run1());
    const auto values = y.values<bool>();
    const double ones = static_cast<double>(std::count(values.begin(), values.end(), true));
    EXPECT_NEAR(ones / kSamples, p, 6 * std::sqrt(p * (1 - p) / kSamples));
  }
  EXPECT_THAT(OpTester("Bernoulli").Input(MakeTensor<float>({1}, {1.5f})).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1.5")));
}

TEST(MultinomialTest, SharesFollowTheProbabilities) {
  const float never = -std::numeric_limits<float>::infinity();
  const Tensor x =
      MakeTensor<float>({2, 3}, {std::log(1.0f), never, std::log(3.0f), 100, 100, 100});
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("Multinomial")
                                           .Attr("seed", 4.0f)
                                           .Attr("sample_size", kSamples)
                                           .Attr("dtype", int64_t{7})
                                           .Input(x)
                                           .Run1());
  ASSERT_EQ(y.shape(), (Shape{2, kSamples}));
  const double expected[2][3] = {{0.25, 0, 0.75}, {1.0 / 3, 1.0 / 3, 1.0 / 3}};
  for (int row = 0; row < 2; ++row) {
    const int64_t* samples = y.data<int64_t>() + row * kSamples;
    for (int64_t c = 0; c < 3; ++c) {
      const double p = expected[row][c];
      EXPECT_NEAR(static_cast<double>(std::count(samples, samples + kSamples, c)) / kSamples, p,
                  6 * std::sqrt(p * (1 - p) / kSamples));
    }
  }
  EXPECT_THAT(
      OpTester("Multinomial").Input(MakeTensor<float>({1, 2}, {never, never})).Run().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("row 0")));
}

}  // namespace
}  // namespace inferd::engine
