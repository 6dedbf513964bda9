// Layer, RMS, instance, group, batch, local response, Lp and mean-variance normalization.
#include <cmath>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

// Mean and variance of `count` numbers `stride` apart.
std::pair<double, double> Moments(const float* x, int64_t count, int64_t stride = 1) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < count; ++i) mean += x[i * stride] / static_cast<double>(count);
  for (int64_t i = 0; i < count; ++i) {
    variance += (x[i * stride] - mean) * (x[i * stride] - mean) / static_cast<double>(count);
  }
  return {mean, variance};
}

TEST(LayerNormalizationTest, AllOutputs) {
  const Tensor x = RandomFloats({4, 3, 8}, 1, -3, 3);
  const Tensor scale = RandomFloats({3, 8}, 2), bias = RandomFloats({3, 8}, 3);
  ASSERT_OK_AND_ASSIGN(const auto y, OpTester("LayerNormalization")
                                         .Attr("axis", int64_t{1})
                                         .Attr("epsilon", 1e-3f)
                                         .Input(x)
                                         .Input(scale)
                                         .Input(bias)
                                         .Outputs(3)
                                         .Run());
  std::vector<float> expected(x.num_elements()), means, inverses;
  for (int64_t r = 0; r < 4; ++r) {
    const auto [mean, variance] = Moments(x.data<float>() + r * 24, 24);
    means.push_back(static_cast<float>(mean));
    inverses.push_back(static_cast<float>(1 / std::sqrt(variance + 1e-3)));
    for (int64_t i = 0; i < 24; ++i) {
      expected[r * 24 + i] =
          static_cast<float>((x.data<float>()[r * 24 + i] - mean) / std::sqrt(variance + 1e-3) *
                                 scale.data<float>()[i] +
                             bias.data<float>()[i]);
    }
  }
  EXPECT_TRUE(TensorsClose(y[0], Tensor::FromValues<float>(x.shape(), expected), 1e-6, 1e-6));
  EXPECT_TRUE(TensorsClose(y[1], Tensor::FromValues<float>({4, 1, 1}, means), 1e-7, 1e-6));
  EXPECT_TRUE(TensorsClose(y[2], Tensor::FromValues<float>({4, 1, 1}, inverses), 1e-7, 1e-6));
}

TEST(LayerNormalizationTest, ScaleMayBroadcastAndBiasMayBeAbsent) {
  const Tensor x = MakeTensor<float>({2, 2}, {1, 3, 5, 9});
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("LayerNormalization")
                                           .Attr("epsilon", 0.0f)
                                           .Input(x)
                                           .Input(MakeTensor<float>({2, 1}, {1, 10}))
                                           .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {-1, 1, -10, 10}, 1e-5));
  ASSERT_OK_AND_ASSIGN(const auto third, OpTester("LayerNormalization")
                                             .Attr("epsilon", 0.0f)
                                             .Input(x)
                                             .Input(MakeTensor<float>({1}, {2}))
                                             .Outputs(3, {1})
                                             .Run());
  EXPECT_THAT(third[0], TensorIs<float>({2, 2}, {-2, 2, -2, 2}, 1e-5));
  EXPECT_THAT(third[2], TensorIs<float>({2, 1}, {1, 0.5f}, 1e-6));
}

TEST(LayerNormalizationTest, HalfKeepsStatisticsInFloat) {
  ASSERT_OK_AND_ASSIGN(const auto y, OpTester("LayerNormalization")
                                         .Input(MakeFrom<Float16>({1, 2}, {1, 3}))
                                         .Input(MakeFrom<Float16>({2}, {1, 1}))
                                         .Outputs(2)
                                         .Run());
  EXPECT_THAT(y[0], TensorIsFrom<Float16>({1, 2}, {-1, 1}, 1e-3));
  EXPECT_THAT(y[1], TensorIs<float>({1, 1}, {2}));
}

TEST(LayerNormalizationTest, BadArgumentsAreNamed) {
  const Tensor x = MakeTensor<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(OpTester("LayerNormalization")
                  .Input(x)
                  .Input(MakeTensor<float>({3}, {1, 1, 1}))
                  .Run()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("input 1 of shape [3]")));
  EXPECT_THAT(
      OpTester("LayerNormalization").Attr("axis", int64_t{5}).Input(x).Input(x).Run().status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("attribute axis is 5")));
}

TEST(RmsNormalizationTest, DividesByTheRootMeanSquare) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("RMSNormalization")
                                           .Attr("epsilon", 0.0f)
                                           .Input(MakeTensor<float>({2, 2}, {3, 3, 1, 7}))
                                           .Input(MakeTensor<float>({2}, {2, 5}))
                                           .Run1());
  EXPECT_THAT(y, TensorIs<float>({2, 2}, {2, 5, 0.4f, 7}, 1e-6));
  // The output takes the type of the scale.
  ASSERT_OK_AND_ASSIGN(const Tensor half, OpTester("RMSNormalization")
                                              .Input(MakeTensor<float>({1, 2}, {3, 3}))
                                              .Input(MakeFrom<Float16>({2}, {2, 5}))
                                              .Run1());
  EXPECT_THAT(half, TensorIsFrom<Float16>({1, 2}, {2, 5}, 1e-2));
}

TEST(InstanceNormalizationTest, NormalizesEachChannel) {
  const Tensor x = RandomFloats({2, 3, 4, 5}, 4);
  const Tensor scale = MakeTensor<float>({3}, {1, 2, 3}), bias = MakeTensor<float>({3}, {0, 1, -1});
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       OpTester("InstanceNormalization").Input(x).Input(scale).Input(bias).Run1());
  for (int64_t nc = 0; nc < 6; ++nc) {
    const auto [mean, variance] = Moments(x.data<float>() + nc * 20, 20);
    for (int64_t i = nc * 20; i < nc * 20 + 20; ++i) {
      ASSERT_NEAR(
          y.data<float>()[i],
          (x.data<float>()[i] - mean) / std::sqrt(variance + 1e-5) * scale.data<float>()[nc % 3] +
              bias.data<float>()[nc % 3],
          1e-5);
    }
  }
}

TEST(GroupNormalizationTest, NormalizesGroupsOfChannels) {
  const Tensor x = RandomFloats({2, 4, 3}, 5);
  const Tensor scale = MakeTensor<float>({4}, {1, 2, 3, 4});
  const Tensor bias = MakeTensor<float>({4}, {0, 1, 2, 3});
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("GroupNormalization")
                                           .Attr("num_groups", int64_t{2})
                                           .Input(x)
                                           .Input(scale)
                                           .Input(bias)
                                           .Run1());
  for (int64_t g = 0; g < 4; ++g) {
    const auto [mean, variance] = Moments(x.data<float>() + g * 6, 6);
    for (int64_t i = g * 6; i < g * 6 + 6; ++i) {
      const int64_t c = i / 3 % 4;
      ASSERT_NEAR(
          y.data<float>()[i],
          (x.data<float>()[i] - mean) / std::sqrt(variance + 1e-5) * scale.data<float>()[c] +
              bias.data<float>()[c],
          1e-5);
    }
  }
  EXPECT_THAT(OpTester("GroupNormalization")
                  .Attr("num_groups", int64_t{3})
                  .Input(x)
                  .Input(scale)
                  .Input(bias)
                  .Run()
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not divide")));
}

OpTester BatchNormalization(Tensor x) {
  OpTester tester("BatchNormalization");
  tester.Attr("epsilon", 0.0f)
      .Input(std::move(x))
      .Input(MakeTensor<float>({2}, {1, 2}))
      .Input(MakeTensor<float>({2}, {10, 20}))
      .Input(MakeTensor<float>({2}, {1, 3}))
      .Input(MakeTensor<float>({2}, {4, 0.25f}));
  return tester;
}

TEST(BatchNormalizationTest, Inference) {
  const Tensor x = MakeTensor<float>({1, 2, 2}, {1, 5, 3, 4});
  ASSERT_OK_AND_ASSIGN(const Tensor y, BatchNormalization(x).Run1());
  EXPECT_THAT(y, TensorIs<float>({1, 2, 2}, {10, 12, 20, 24}, 1e-6));
  EXPECT_THAT(BatchNormalization(x).Outputs(3).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("training_mode")));
}

TEST(BatchNormalizationTest, TrainingReturnsRunningStatistics) {
  const Tensor x = MakeTensor<float>({2, 2, 1}, {1, 2, 3, 6});
  ASSERT_OK_AND_ASSIGN(const auto y, BatchNormalization(x)
                                         .Attr("training_mode", int64_t{1})
                                         .Attr("momentum", 0.75f)
                                         .Outputs(3)
                                         .Run());
  EXPECT_THAT(y[0], TensorIs<float>({2, 2, 1}, {9, 18, 11, 22}, 1e-5));
  EXPECT_THAT(y[1], TensorIs<float>({2}, {1.25f, 3.25f}, 1e-6));
  EXPECT_THAT(y[2], TensorIs<float>({2}, {3.25f, 1.1875f}, 1e-6));
}

TEST(BatchNormalizationTest, ParametersMayHaveOtherTypes) {
  OpTester tester("BatchNormalization");
  tester.Attr("epsilon", 0.0f)
      .Input(MakeFrom<Float16>({1, 1, 2}, {2, 4}))
      .Input(MakeTensor<float>({1}, {2}))
      .Input(MakeTensor<float>({1}, {1}))
      .Input(MakeTensor<double>({1}, {1}))
      .Input(MakeTensor<double>({1}, {4}));
  ASSERT_OK_AND_ASSIGN(const Tensor y, tester.Run1());
  EXPECT_THAT(y, TensorIsFrom<Float16>({1, 1, 2}, {2, 4}));
}

TEST(BatchNormalizationTest, ChannelCountsMustAgree) {
  EXPECT_THAT(BatchNormalization(RandomFloats({1, 3, 2}, 1)).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("each of the 3 channels")));
}

TEST(LrnTest, SumsNeighbouringChannels) {
  const Tensor x = RandomFloats({2, 5, 3}, 6);
  for (int64_t size : {1, 2, 3, 4, 9}) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("LRN")
                                             .Attr("size", size)
                                             .Attr("alpha", 0.5f)
                                             .Attr("beta", 0.75f)
                                             .Attr("bias", 2.0f)
                                             .Input(x)
                                             .Run1());
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t n = i / 15, c = i / 3 % 5, s = i % 3;
      double square = 0;
      for (int64_t k = 0; k < 5; ++k) {
        if (k < c - (size - 1) / 2 || k > c + (size - 1) - (size - 1) / 2) continue;
        const double v = x.data<float>()[n * 15 + k * 3 + s];
        square += v * v;
      }
      ASSERT_NEAR(y.data<float>()[i],
                  x.data<float>()[i] / std::pow(2 + 0.5 / static_cast<double>(size) * square, 0.75),
                  1e-6)
          << size;
    }
  }
}

TEST(LpNormalizationTest, BothNormsAndZero) {
  const Tensor x = MakeTensor<float>({2, 2}, {3, 4, 0, 0});
  ASSERT_OK_AND_ASSIGN(const Tensor l2, OpTester("LpNormalization").Input(x).Run1());
  EXPECT_THAT(l2, TensorIs<float>({2, 2}, {0.6f, 0.8f, 0, 0}));
  ASSERT_OK_AND_ASSIGN(const Tensor l1,
                       OpTester("LpNormalization").Attr("p", int64_t{1}).Input(x).Run1());
  EXPECT_THAT(l1, TensorIs<float>({2, 2}, {3.0f / 7, 4.0f / 7, 0, 0}));
  ASSERT_OK_AND_ASSIGN(const Tensor columns,
                       OpTester("LpNormalization").Attr("axis", int64_t{0}).Input(x).Run1());
  EXPECT_THAT(columns, TensorIs<float>({2, 2}, {1, 1, 0, 0}));
  EXPECT_THAT(OpTester("LpNormalization").Attr("p", int64_t{3}).Input(x).Run().status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected 1 or 2")));
}

TEST(MeanVarianceNormalizationTest, DefaultAxesKeepTheChannel) {
  const Tensor x = RandomFloats({2, 3, 2, 2}, 7);
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("MeanVarianceNormalization").Input(x).Run1());
  for (int64_t c = 0; c < 3; ++c) {
    std::vector<float> channel;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      if (i / 4 % 3 == c) channel.push_back(x.data<float>()[i]);
    }
    const auto [mean, variance] = Moments(channel.data(), static_cast<int64_t>(channel.size()));
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      if (i / 4 % 3 != c) continue;
      ASSERT_NEAR(y.data<float>()[i], (x.data<float>()[i] - mean) / std::sqrt(variance), 1e-5);
    }
  }
}

TEST(NormalizationTest, EmptyBatchesPass) {
  ASSERT_OK_AND_ASSIGN(const Tensor layer, OpTester("LayerNormalization")
                                               .Input(MakeTensor<float>({0, 4}, {}))
                                               .Input(MakeTensor<float>({4}, {1, 1, 1, 1}))
                                               .Run1());
  EXPECT_THAT(layer, TensorIs<float>({0, 4}, {}));
  ASSERT_OK_AND_ASSIGN(const Tensor batch,
                       BatchNormalization(MakeTensor<float>({0, 2, 3}, {})).Run1());
  EXPECT_THAT(batch, TensorIs<float>({0, 2, 3}, {}));
}

}  // namespace
}  // namespace inferd::engine
