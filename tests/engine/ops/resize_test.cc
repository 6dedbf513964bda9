#include <cmath>
#include <random>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

Tensor Scales(std::initializer_list<float> values) {
  return MakeTensor<float>({static_cast<int64_t>(values.size())}, values);
}

const Tensor& Square() {
  static const Tensor* const x = new Tensor(
      MakeTensor<float>({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  return *x;
}

// Expected values of the tests below are those in the standard's documentation of Resize.
TEST(Resize, LinearHalfPixelUpsample) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Resize")
                                     .Attr("mode", std::string("linear"))
                                     .Input(MakeTensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}))
                                     .NoInput()
                                     .Input(Scales({1, 1, 2, 2}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 4, 4}, {1, 1.25f, 1.75f, 2, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f,
                                                2.75f, 3.25f, 3.5f, 3, 3.25f, 3.75f, 4}));
}

TEST(Resize, TfHalfPixelForNearest) {
  // (o + 0.5) / 0.5 without the half that half_pixel takes off: 1 and 3.
  ASSERT_OK_AND_ASSIGN(
      Tensor y, OpTester("Resize")
                    .Attr("coordinate_transformation_mode", std::string("tf_half_pixel_for_nn"))
                    .Input(Square())
                    .NoInput()
                    .Input(Scales({1, 1, 0.5f, 0.5f}))
                    .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 2, 2}, {6, 8, 14, 16}));
}

TEST(Resize, LinearAlignCorners) {
  ASSERT_OK_AND_ASSIGN(Tensor y,
                       OpTester("Resize")
                           .Attr("mode", std::string("linear"))
                           .Attr("coordinate_transformation_mode", std::string("align_corners"))
                           .Input(MakeTensor<float>({1, 1, 2, 2}, {1, 2, 3, 4}))
                           .NoInput()
                           .Input(Scales({1, 1, 2, 2}))
                           .Run1());
  EXPECT_THAT(y,
              TensorIs<float>({1, 1, 4, 4},
                              {1, 1.3333334f, 1.6666667f, 2, 1.6666667f, 2, 2.3333333f, 2.6666667f,
                               2.3333333f, 2.6666667f, 3, 3.3333333f, 3, 3.3333333f, 3.6666667f, 4},
                              1e-6));
}

TEST(Resize, CubicExcludeOutside) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Resize")
                                     .Attr("mode", std::string("cubic"))
                                     .Attr("cubic_coeff_a", -0.5f)
                                     .Attr("exclude_outside", int64_t{1})
                                     .Input(Square())
                                     .NoInput()
                                     .Input(Scales({1, 1, 0.8f, 0.8f}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 3, 3},
                                 {1.36812675f, 2.6695014f, 4.0133367f, 6.57362535f, 7.875f,
                                  9.2188353f, 11.94896657f, 13.25034122f, 14.59417652f},
                                 1e-5));
}

TEST(Resize, Antialias) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Resize")
                                     .Attr("mode", std::string("linear"))
                                     .Attr("antialias", int64_t{1})
                                     .Input(Square())
                                     .NoInput()
                                     .Input(Scales({1, 1, 0.6f, 0.6f}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 2, 2}, {2.875f, 4.5f, 9.375f, 11.0f}, 1e-5));
}

TEST(Resize, CropExtrapolates) {
  ASSERT_OK_AND_ASSIGN(
      Tensor y, OpTester("Resize")
                    .Attr("mode", std::string("linear"))
                    .Attr("coordinate_transformation_mode", std::string("tf_crop_and_resize"))
                    .Attr("extrapolation_value", 10.0f)
                    .Input(Square())
                    .Input(MakeTensor<float>({8}, {0, 0, 0.4f, 0.6f, 1, 1, 1.2f, 1.7f}))
                    .NoInput()
                    .Input(Tensor::Vector({1, 1, 3, 3}))
                    .Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 1, 3, 3}, {7.6f, 10, 10, 12.4f, 10, 10, 10, 10, 10}, 1e-5));
}

TEST(Resize, AspectRatioPolicies) {
  const auto shape = [](const char* policy) {
    return OpTester("Resize")
        .Attr("keep_aspect_ratio_policy", std::string(policy))
        .Attr("axes", Ints{2, 3})
        .Input(RandomFloats({1, 1, 2, 4}, 1))
        .NoInput()
        .NoInput()
        .Input(Tensor::Vector({7, 8}))
        .Run1()
        .value()
        .shape();
  };
  EXPECT_EQ(shape("stretch"), (Shape{1, 1, 7, 8}));
  EXPECT_EQ(shape("not_larger"), (Shape{1, 1, 4, 8}));
  EXPECT_EQ(shape("not_smaller"), (Shape{1, 1, 7, 14}));
}

TEST(Resize, NearestMovesStrings) {
  ASSERT_OK_AND_ASSIGN(Tensor y, OpTester("Resize")
                                     .Input(MakeTensor<std::string>({2}, {"a", "b"}))
                                     .NoInput()
                                     .Input(Scales({2}))
                                     .Run1());
  EXPECT_THAT(y, TensorIs<std::string>({4}, {"a", "a", "b", "b"}));
}

TEST(Resize, IntegersRoundToEven) {
  ASSERT_OK_AND_ASSIGN(Tensor y,
                       OpTester("Resize")
                           .Attr("mode", std::string("linear"))
                           .Attr("coordinate_transformation_mode", std::string("align_corners"))
                           .Input(MakeTensor<uint8_t>({2}, {0, 5}))
                           .NoInput()
                           .NoInput()
                           .Input(Tensor::Vector({3}))
                           .Run1());
  EXPECT_THAT(y, TensorIs<uint8_t>({3}, {0, 2, 5}));
}

TEST(Resize, Faults) {
  const Tensor x = RandomFloats({2, 2}, 1);
  EXPECT_THAT(OpTester("Resize").Input(x).NoInput().Input(Scales({2})).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 resized axes")));
  EXPECT_THAT(OpTester("Resize").Input(x).NoInput().Input(Scales({2, 0})).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("positive")));
  EXPECT_THAT(OpTester("Resize").Input(x).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("neither")));
  EXPECT_THAT(OpTester("Resize")
                  .Attr("mode", std::string("area"))
                  .Input(x)
                  .NoInput()
                  .Input(Scales({1, 1}))
                  .Run1()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mode is \"area\"")));
  EXPECT_THAT(OpTester("Resize").Input(x).NoInput().Input(Scales({1e30f, 1})).Run1().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2^30")));
}

// Coordinates as exact fractions; the nearest position by comparing all of them.
int64_t NearestByFraction(const std::string& mode, int64_t in, int64_t num, int64_t den) {
  int64_t best = 0;
  for (int64_t i = 0; i < in; ++i) {
    const int64_t here = std::abs(i * den - num), there = std::abs(best * den - num);
    if (mode == "floor") {
      if (i * den <= num) best = i;
    } else if (mode == "ceil") {
      if (best * den < num) best = i;
    } else if (here < there || (here == there && mode == "round_prefer_ceil")) {
      best = i;
    }
  }
  return best;
}

TEST(Resize, NearestMatchesExactFractions) {
  std::mt19937 rng(21);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  for (const char* transform : {"half_pixel", "asymmetric", "align_corners"}) {
    for (const char* mode : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      for (int round = 0; round < 40; ++round) {
        const int64_t in[2] = {pick(1, 9), pick(1, 9)};
        const int64_t out[2] = {pick(1, 12), pick(1, 12)};
        std::vector<int32_t> values(in[0] * in[1]);
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
        const auto source = [&](int axis, int64_t o) {
          int64_t num = o * in[axis], den = out[axis];
          if (std::string(transform) == "half_pixel") {
            num = (2 * o + 1) * in[axis] - out[axis];
            den = 2 * out[axis];
          } else if (std::string(transform) == "align_corners") {
            num = o * (in[axis] - 1);
            den = std::max<int64_t>(1, out[axis] - 1);
          }
          return NearestByFraction(mode, in[axis], num, den);
        };
        std::vector<int32_t> expected;
        for (int64_t i = 0; i < out[0]; ++i) {
          for (int64_t j = 0; j < out[1]; ++j) {
            expected.push_back(values[source(0, i) * in[1] + source(1, j)]);
          }
        }
        ASSERT_OK_AND_ASSIGN(
            Tensor y, OpTester("Resize")
                          .Attr("coordinate_transformation_mode", std::string(transform))
                          .Attr("nearest_mode", std::string(mode))
                          .Input(Tensor::FromValues<int32_t>({in[0], in[1]},
                                                             absl::Span<const int32_t>(values)))
                          .NoInput()
                          .NoInput()
                          .Input(Tensor::Vector({out[0], out[1]}))
                          .Run1());
        EXPECT_TRUE(TensorsClose(
            y, Tensor::FromValues<int32_t>({out[0], out[1]}, absl::Span<const int32_t>(expected))))
            << transform << " " << mode << " [" << in[0] << "," << in[1] << "] to [" << out[0]
            << "," << out[1] << "]";
      }
    }
  }
}

}  // namespace
}  // namespace inferd::engine
