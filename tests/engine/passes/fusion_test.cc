// Scale and shift, convolution, bias, residual and activation fusions.
#include <string>
#include <vector>

#include "tests/engine/passes/pass_tester.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;

constexpr double kRounding = 1e-5;

std::vector<std::string> Activations(const Node* node) {
  return node == nullptr ? std::vector<std::string>{}
                         : node->attributes().GetStrings("activations");
}

TEST(BatchNormToScaleShift, ConstantStatistics) {
  const Rewritten r = RunOnePass("batch_norm_to_scale_shift", R"(
    graph g (x: float[n,2,3]) -> (y) {
      s = constant float[2] {1.5,-2}
      b = constant float[2] {0.25,3}
      m = constant float[2] {0.5,-1}
      v = constant float[2] {4,0.25}
      y = BatchNormalization{epsilon=0.001}(x, s, b, m, v)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("inferd::ScaleShift"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(BatchNormToScaleShift, KeepsRuntimeStatistics) {
  const Rewritten r = RunOnePass("batch_norm_to_scale_shift", R"(
    graph g (x: float[1,2,3], m: float[2]) -> (y) {
      s = constant float[2] {1.5,-2}
      b = constant float[2] {0.25,3}
      v = constant float[2] {4,0.25}
      y = BatchNormalization(x, s, b, m, v)
    })");
  EXPECT_EQ(r.applied, 0);
}

// As Caffe's exporter writes them: BatchNormalization, then Mul and Add by Unsqueeze'd constants.
constexpr char kCaffeNorm[] = R"(
    graph g (x: float[n,2,4,4]) -> (y) {
      w = constant float[2,2,1,1] {1,2,3,4}
      s = constant float[2] {1.5,-2}
      b = constant float[2] {0.25,3}
      m = constant float[2] {0.5,-1}
      v = constant float[2] {4,0.25}
      scale = constant float[2] {2,3}
      shift = constant float[2] {-1,1}
      axes = constant int64[2] {1,2}
      c = Conv(x, w)
      n = BatchNormalization(c, s, b, m, v)
      scale3 = Unsqueeze(scale, axes)
      p = Mul(n, scale3)
      shift3 = Unsqueeze(shift, axes)
      q = Add(p, shift3)
      y = Relu(q)
    })";

TEST(AllPasses, NormAndScaleAndActivationBecomeOneConv) {
  const Rewritten r = RunEveryPass(kCaffeNorm);
  EXPECT_THAT(r.ops(), ElementsAre("inferd::FusedConv"));
  EXPECT_THAT(Activations(r.node("inferd::FusedConv")), ElementsAre("relu"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(MergeScaleShift, MulAndAddByChannel) {
  const Rewritten r = RunOnePass("merge_scale_shift", R"(
    graph g (x: float[1,2,3,3]) -> (y) {
      a = constant float[2] {1.5,-2}
      b = constant float[2] {0.25,3}
      m = constant float[2,1,1] {2,4}
      s = constant float[1,2,1,1] {1,-1}
      p = inferd::ScaleShift(x, a, b)
      q = Mul(m, p)
      r = Sub(q, s)
      y = inferd::ScaleShift(r, a, b)
    })");
  EXPECT_EQ(r.applied, 3);
  EXPECT_THAT(r.ops(), ElementsAre("inferd::ScaleShift"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(MergeScaleShift, KeepsOtherBroadcasts) {
  const Rewritten r = RunOnePass("merge_scale_shift", R"(
    graph g (x: float[1,2,3,2]) -> (y) {
      a = constant float[2] {1.5,-2}
      b = constant float[2] {0.25,3}
      by_column = constant float[2] {2,4}
      p = inferd::ScaleShift(x, a, b)
      y = Mul(p, by_column)
    })");
  EXPECT_EQ(r.applied, 0);
}

TEST(FuseScaleIntoConv, WithAndWithoutBiasAndGroups) {
  const Rewritten r = RunOnePass("fuse_scale_into_conv", R"(
    graph g (x: float[1,2,4,4]) -> (y) {
      w = constant float[2,1,1,1] {3,-2}
      bias = constant float[2] {1,2}
      scale = constant float[2,1,1] {2,4}
      one = constant float[] {0.5}
      a = constant float[2] {1.5,-2}
      b = constant float[2] {0.25,3}
      c = Conv{group=2}(x, w)
      d = Mul(c, scale)
      e = Conv{group=2}(d, w, bias)
      f = inferd::ScaleShift{activations=["relu"], activation_params=[0.0,0.0]}(e, a, b)
      h = Conv{group=2}(f, w, bias)
      y = Add(one, h)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("Conv", "inferd::FusedConv", "Conv"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(FuseScaleIntoConv, KeepsAConvWithAnotherConsumer) {
  const Rewritten r = RunOnePass("fuse_scale_into_conv", R"(
    graph g (x: float[1,2,4,4]) -> (y, c) {
      w = constant float[2,2,1,1] {3,-2,1,1}
      scale = constant float[2,1,1] {2,4}
      c = Conv(x, w)
      y = Mul(c, scale)
    })");
  EXPECT_EQ(r.applied, 0);
}

TEST(FuseMatMulBias, VectorOnEitherSide) {
  const Rewritten r = RunOnePass("fuse_matmul_bias", R"(
    graph g (x: float[n,2,3], b: float[2]) -> (y) {
      w = constant float[3,2] {1,2,3,4,5,6}
      c = constant float[1,2] {1,-1}
      v = constant float[2,2] {1,0,0,1}
      m = MatMul(x, w)
      p = Add(b, m)
      q = MatMul(p, v)
      y = Add(q, c)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("inferd::FusedMatMul", "inferd::FusedMatMul"));
  EXPECT_TRUE(SameOutputs(r));
}

TEST(FuseMatMulBias, KeepsFullAddends) {
  const Rewritten r = RunOnePass("fuse_matmul_bias", R"(
    graph g (x: float[2,3]) -> (y) {
      w = constant float[3,2] {1,2,3,4,5,6}
      c = constant float[2,2] {1,-1,2,3}
      m = MatMul(x, w)
      y = Add(m, c)
    })");
  EXPECT_EQ(r.applied, 0);
}

TEST(FuseChannelShuffle, ReshapeTransposeReshape) {
  const Rewritten r = RunOnePass("fuse_channel_shuffle", R"(
    graph g (x: float[n,6,2,2]) -> (y) {
      split = constant int64[5] {-1,2,3,2,2}
      join = constant int64[4] {-1,6,2,2}
      a = Reshape(x, split)
      b = Transpose{perm=[0,2,1,3,4]}(a)
      y = Reshape(b, join)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("inferd::ChannelShuffle"));
  EXPECT_EQ(r.node("inferd::ChannelShuffle")->attributes().GetInt("group", 0), 2);
  EXPECT_TRUE(SameOutputs(r));
}

TEST(FuseChannelShuffle, KeepsOtherShapes) {
  const Rewritten r = RunOnePass("fuse_channel_shuffle", R"(
    graph g (x: float[1,6,2,3]) -> (y) {
      split = constant int64[5] {1,2,3,2,3}
      join = constant int64[4] {1,6,3,2}
      a = Reshape(x, split)
      b = Transpose{perm=[0,2,1,3,4]}(a)
      y = Reshape(b, join)
    })");
  EXPECT_EQ(r.applied, 0);
}

TEST(ReduceMeanToGlobalPool, WithAndWithoutKeptDimensions) {
  const Rewritten r = RunOnePass("reduce_mean_to_global_pool", R"(
    graph g (x: float[n,3,4,5]) -> (y, z) {
      axes = constant int64[2] {3,2}
      negative = constant int64[2] {-2,-1}
      y = ReduceMean(x, axes)
      z = ReduceMean{keepdims=0}(x, negative)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("GlobalAveragePool", "GlobalAveragePool", "Flatten"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(ReduceMeanToGlobalPool, KeepsOtherAxes) {
  const Rewritten r = RunOnePass("reduce_mean_to_global_pool", R"(
    graph g (x: float[n,3,4,5]) -> (y, z) {
      channels = constant int64[2] {1,2}
      one = constant int64[1] {3}
      y = ReduceMean(x, channels)
      z = ReduceMean(x, one)
    })");
  EXPECT_EQ(r.applied, 0);
}

// A residual block: the projection of the shortcut comes after the branch's last Conv.
TEST(FuseResidualAdd, TakesTheOtherOperandWhenItIsThere) {
  const Rewritten r = RunOnePass("fuse_residual_add", R"(
    graph g (x: float[n,2,4,4]) -> (y) {
      w = constant float[2,2,1,1] {1,2,3,4}
      r = Relu(x)
      c = Conv(r, w)
      s = Tanh(r)
      a = Add(c, s)
      y = Relu(a)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("Relu", "Tanh", "inferd::FusedConv", "Relu"));
  EXPECT_EQ(r.node("inferd::FusedConv")->input(2), nullptr);
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(FuseResidualAdd, KeepsBroadcastsAndUnknownShapes) {
  const Rewritten broadcast = RunOnePass("fuse_residual_add", R"(
    graph g (x: float[1,2,4,4], z: float[1,2,1,1]) -> (y) {
      w = constant float[2,2,1,1] {1,2,3,4}
      c = Conv(x, w)
      y = Add(c, z)
    })");
  EXPECT_EQ(broadcast.applied, 0);
  const Rewritten unknown = RunOnePass("fuse_residual_add", R"(
    graph g (x: float[?,2,4,4], z: float[?,2,4,4]) -> (y) {
      w = constant float[2,2,1,1] {1,2,3,4}
      c = Conv(x, w)
      y = Add(c, z)
    })");
  EXPECT_EQ(unknown.applied, 0);
}

TEST(FuseActivation, IntoEachProducer) {
  const Rewritten r = RunOnePass("fuse_activation", R"(
    graph g (x: float[1,2,2,2], a: float[2,2]) -> (y, z) {
      w = constant float[2,2,1,1] {1,2,3,4}
      m = constant float[2,2] {1,-2,3,-4}
      low = constant float[] {0}
      high = constant float[] {6}
      s = constant float[2] {1,2}
      c = Conv(x, w)
      d = Clip(c, low, high)
      e = Add(d, x)
      f = LeakyRelu{alpha=0.2}(e)
      h = inferd::ScaleShift(f, s, s)
      y = Sigmoid(h)
      p = MatMul(a, m)
      q = Tanh(p)
      u = Gemm(q, m)
      z = HardSwish(u)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("inferd::FusedConv", "inferd::FusedAdd", "inferd::ScaleShift",
                                   "inferd::FusedMatMul", "inferd::FusedGemm"));
  EXPECT_THAT(Activations(r.node("inferd::FusedConv")), ElementsAre("clip"));
  EXPECT_THAT(Activations(r.node("inferd::FusedAdd")), ElementsAre("leaky_relu"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(FuseActivation, ChainsAndSilu) {
  const Rewritten r = RunOnePass("fuse_activation", R"(
    graph g (x: float[1,2,2,2]) -> (y) {
      w = constant float[2,2,1,1] {1,2,3,4}
      c = Conv(x, w)
      s = Sigmoid(c)
      m = Mul(s, c)
      y = Tanh(m)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("inferd::FusedConv"));
  EXPECT_THAT(Activations(r.node("inferd::FusedConv")), ElementsAre("silu", "tanh"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(FuseActivation, HardSwishAsProduct) {
  const Rewritten r = RunOnePass("fuse_activation", R"(
    graph g (x: float[1,2,2,2]) -> (y) {
      w = constant float[2,2,1,1] {1,2,3,4}
      c = Conv(x, w)
      s = HardSigmoid{alpha=0.16666667}(c)
      y = Mul(c, s)
    })");
  EXPECT_THAT(Activations(r.node("inferd::FusedConv")), ElementsAre("hard_swish"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(FuseActivation, KeepsValuesOthersUse) {
  const Rewritten r = RunOnePass("fuse_activation", R"(
    graph g (x: float[1,2,2,2]) -> (y, c) {
      w = constant float[2,2,1,1] {1,2,3,4}
      c = Conv(x, w)
      y = Relu(c)
    })");
  EXPECT_EQ(r.applied, 0);
}

// A bottleneck of ResNet-50: three convolutions with norms, a projected shortcut, the sum.
TEST(AllPasses, ResidualBlock) {
  const Rewritten r = RunEveryPass(R"(
    graph g (x: float[n,2,4,4]) -> (y) {
      w = constant float[2,2,1,1] {1,2,3,4}
      w3 = constant float[2,2,1,1] {4,3,2,1}
      k = constant float[2,2,3,3] {1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,
                                   1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0}
      s = constant float[2] {1.5,-2}
      b = constant float[2] {0.25,3}
      m = constant float[2] {0.5,-1}
      v = constant float[2] {4,0.25}
      c1 = Conv(x, w)
      n1 = BatchNormalization(c1, s, b, m, v)
      r1 = Relu(n1)
      c2 = Conv{pads=[1,1,1,1]}(r1, k)
      n2 = BatchNormalization(c2, s, b, m, v)
      c3 = Conv(x, w3)
      n3 = BatchNormalization(c3, s, m, b, v)
      sum = Sum(n2, n3)
      y = Relu(sum)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("inferd::FusedConv", "Conv", "inferd::FusedConv"));
  EXPECT_TRUE(SameOutputs(r, 1e-4));
}

// As in DenseNet: norm and activation before the convolution.
TEST(AllPasses, PreActivation) {
  const Rewritten r = RunEveryPass(R"(
    graph g (x: float[n,2,4,4]) -> (y) {
      w = constant float[2,2,1,1] {1,2,3,4}
      s = constant float[2] {1.5,-2}
      b = constant float[2] {0.25,3}
      m = constant float[2] {0.5,-1}
      v = constant float[2] {4,0.25}
      n1 = BatchNormalization(x, s, b, m, v)
      r1 = Relu(n1)
      c = Conv(r1, w)
      y = Concat{axis=1}(x, c)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("inferd::ScaleShift", "Conv", "Concat"));
  EXPECT_THAT(Activations(r.node("inferd::ScaleShift")), ElementsAre("relu"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

}  // namespace
}  // namespace inferd::engine
