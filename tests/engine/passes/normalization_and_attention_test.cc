// Layer norm, RMS norm and attention in the spellings exporters decompose them into.
#include <string>
#include <vector>

#include "tests/engine/passes/pass_tester.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;

constexpr double kRounding = 1e-5;

std::string Norm(const std::string& lines, const std::string& outputs = "y") {
  return "graph g (x: float[n,3,4]) -> (" + outputs + R"G() {
      last = constant int64[1] {-1}
      second = constant int64[1] {1}
      eps = constant float[] {0.001}
      one = constant float[] {1}
      two = constant float[] {2}
      three = constant float[] {3}
      scale = constant float[4] {1.5,-2,0.5,1}
      bias = constant float[1,1,4] {0.25,3,-1,0}
      rows = constant float[3,1] {1,2,3}
)G" + lines +
         "\n}";
}

constexpr char kCentred[] = R"(
      m = ReduceMean{keepdims=1}(x, last)
      d = Sub(x, m)
      q = Pow(d, two)
      v = ReduceMean{keepdims=1}(q, last)
      e = Add(v, eps)
)";

TEST(FuseLayerNormalization, Spellings) {
  const std::string centred(kCentred);
  for (const std::string& lines : {
           centred + "s = Sqrt(e)\n n = Div(d, s)\n p = Mul(n, scale)\n y = Add(p, bias)",
           centred + "s = Sqrt(e)\n n = Div(d, s)\n p = Mul(scale, n)\n y = Add(bias, p)",
           centred + "s = Sqrt(e)\n n = Div(d, s)\n y = Mul(n, scale)",
           centred + "s = Sqrt(e)\n y = Div(d, s)",
           centred + "s = Sqrt(e)\n r = Reciprocal(s)\n n = Mul(r, d)\n y = Mul(n, scale)",
           centred + "s = Sqrt(e)\n r = Reciprocal(s)\n f = Mul(r, scale)\n a = Mul(x, f)\n"
                     "b = Mul(m, f)\n c = Sub(bias, b)\n y = Add(a, c)",
           std::string("m = ReduceMean(x, last)\n d = Sub(x, m)\n q = Mul(d, d)\n"
                       "v = ReduceMean(q, last)\n e = Add(eps, v)\n s = Sqrt(e)\n n = Div(d, s)\n"
                       "p = Mul(n, scale)\n y = Add(p, bias)"),
       }) {
    SCOPED_TRACE(lines);
    const Rewritten r = RunOnePass("fuse_layer_normalization", Norm(lines));
    EXPECT_EQ(r.applied, 1);
    EXPECT_THAT(r.ops(), ElementsAre("LayerNormalization"));
    EXPECT_TRUE(SameOutputs(r, kRounding));
  }
}

TEST(FuseLayerNormalization, WhatIsNoParameterStaysOutside) {
  const Rewritten r =
      RunOnePass("fuse_layer_normalization",
                 Norm(std::string(kCentred) +
                      "s = Sqrt(e)\n n = Div(d, s)\n p = Mul(n, rows)\n y = Add(p, x)"));
  EXPECT_EQ(r.applied, 1);
  EXPECT_THAT(r.ops(), ElementsAre("LayerNormalization", "Mul", "Add"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(FuseLayerNormalization, Kept) {
  const std::string rest = "s = Sqrt(e)\n n = Div(d, s)\n y = Mul(n, scale)";
  const auto applied = [](const std::string& lines, const std::string& outputs = "y") {
    return RunOnePass("fuse_layer_normalization", Norm(lines, outputs)).applied;
  };
  // The deviation, or the variance, has another consumer.
  EXPECT_EQ(applied(kCentred + rest, "y, d"), 0);
  EXPECT_EQ(applied(kCentred + rest, "y, v"), 0);
  // Another power; axes that are not the last, or differ.
  EXPECT_EQ(applied("m = ReduceMean(x, last)\n d = Sub(x, m)\n q = Pow(d, three)\n"
                    "v = ReduceMean(q, last)\n e = Add(v, eps)\n" +
                    rest),
            0);
  EXPECT_EQ(applied("m = ReduceMean(x, second)\n d = Sub(x, m)\n q = Pow(d, two)\n"
                    "v = ReduceMean(q, second)\n e = Add(v, eps)\n" +
                    rest),
            0);
  EXPECT_EQ(applied("m = ReduceMean(x)\n d = Sub(x, m)\n q = Pow(d, two)\n"
                    "v = ReduceMean(q, last)\n e = Add(v, eps)\n" +
                    rest),
            0);
}

TEST(FuseLayerNormalization, BetweenCastsOfAHalfType) {
  const Rewritten r = RunOnePass("fuse_layer_normalization", R"(
    graph g (h: float[2,3,4]) -> (y) {
      last = constant int64[1] {-1}
      eps = constant float[] {0.001}
      scale = constant float[4] {1.5,-2,0.5,1}
      two = constant float[] {2}
      half = Cast{to=10}(h)
      half_scale = Cast{to=10}(scale)
      x = Cast{to=1}(half)
      m = ReduceMean(x, last)
      d = Sub(x, m)
      q = Pow(d, two)
      v = ReduceMean(q, last)
      e = Add(v, eps)
      s = Sqrt(e)
      n = Div(d, s)
      c = Cast{to=10}(n)
      p = Mul(c, half_scale)
      y = Cast{to=1}(p)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("Cast", "Cast", "LayerNormalization", "Cast"));
  EXPECT_TRUE(SameOutputs(r, 2e-3));
}

TEST(FuseRmsNormalization, Spellings) {
  for (const std::string& lines : {
           std::string("s = Sqrt(e)\n n = Div(x, s)\n y = Mul(n, scale)"),
           std::string("s = Sqrt(e)\n n = Div(x, s)\n y = Mul(scale, n)"),
           std::string("s = Sqrt(e)\n r = Reciprocal(s)\n n = Mul(x, r)\n y = Mul(scale, n)"),
           std::string("s = Sqrt(e)\n r = Div(one, s)\n n = Mul(r, x)\n y = Mul(n, scale)"),
           std::string("s = Sqrt(e)\n r = Reciprocal(s)\n n = Mul(r, scale)\n y = Mul(n, x)"),
           std::string("s = Sqrt(e)\n y = Div(x, s)"),
       }) {
    for (const char* square : {"q = Pow(x, two)\n", "q = Mul(x, x)\n"}) {
      SCOPED_TRACE(lines);
      const Rewritten r = RunOnePass(
          "fuse_rms_normalization",
          Norm(square + std::string("v = ReduceMean(q, last)\n e = Add(v, eps)\n") + lines));
      EXPECT_EQ(r.applied, 1);
      EXPECT_THAT(r.ops(), ElementsAre("RMSNormalization"));
      EXPECT_TRUE(SameOutputs(r, kRounding));
    }
  }
}

TEST(FuseRmsNormalization, Kept) {
  const std::string rest = "e = Add(v, eps)\n s = Sqrt(e)\n n = Div(x, s)\n y = Mul(n, scale)";
  const auto applied = [](const std::string& lines, const std::string& outputs = "y") {
    return RunOnePass("fuse_rms_normalization", Norm(lines, outputs)).applied;
  };
  EXPECT_EQ(applied("q = Pow(x, two)\n v = ReduceMean(q, last)\n" + rest, "y, v"), 0);
  EXPECT_EQ(applied("q = Pow(x, three)\n v = ReduceMean(q, last)\n" + rest), 0);
  EXPECT_EQ(applied("q = Pow(x, two)\n v = ReduceMean(q, second)\n" + rest), 0);
}

std::string Attend(const std::string& lines, const std::string& outputs = "y") {
  return "graph g (q: float[2,4,3,8], k: float[2,4,5,8], v: float[2,4,5,6], mask: float[2,1,1,5], "
         "columns: float[2,1,3,1]) -> (" +
         outputs + R"G() {
      scale = constant float[] {0.35355338}
      divisor = constant float[] {2.828427}
      part = constant float[] {0.59460354}
)G" + lines +
         "\n}";
}

TEST(FuseAttention, ScaleAndMaskInTheirPlaces) {
  const std::string kt = "kt = Transpose{perm=[0,1,3,2]}(k)\n";
  const std::string end = "p = Softmax(m)\n y = MatMul(p, v)";
  for (const std::string& lines : {
           kt + "s = MatMul(q, kt)\n a = Mul(s, scale)\n m = Add(a, mask)\n" + end,
           kt + "s = MatMul(q, kt)\n a = Div(s, divisor)\n m = Add(mask, a)\n" + end,
           kt + "a = Mul(scale, q)\n s = MatMul(a, kt)\n m = Add(s, mask)\n" + end,
           kt + "a = Mul(q, part)\n b = Mul(kt, part)\n s = MatMul(a, b)\n m = Add(s, mask)\n" +
               end,
           "a = Mul(q, part)\n b = Mul(k, part)\n kt = Transpose{perm=[0,1,3,2]}(b)\n"
           "m = MatMul(a, kt)\n" +
               end,
           kt + "m = MatMul(q, kt)\n" + end,
       }) {
    SCOPED_TRACE(lines);
    const Rewritten r = RunOnePass("fuse_attention", Attend(lines));
    EXPECT_EQ(r.applied, 1);
    EXPECT_THAT(r.ops(), ElementsAre("Attention"));
    EXPECT_TRUE(SameOutputs(r, kRounding));
  }
}

TEST(FuseAttention, TakesTheKeysTranspositionBack) {
  const Rewritten r = RunOnePass("fuse_attention", R"(
    graph g (q: float[2,4,3,8], k: float[2,5,4,8], v: float[2,4,5,6]) -> (y) {
      kt = Transpose{perm=[0,2,3,1]}(k)
      s = MatMul(q, kt)
      p = Softmax{axis=3}(s)
      y = MatMul(p, v)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("Transpose", "Attention"));
  EXPECT_TRUE(SameOutputs(r, kRounding));
}

TEST(FuseAttention, Kept) {
  const std::string kt = "kt = Transpose{perm=[0,1,3,2]}(k)\n s = MatMul(q, kt)\n";
  const auto applied = [](const std::string& lines, const std::string& outputs = "y") {
    return RunOnePass("fuse_attention", Attend(lines, outputs)).applied;
  };
  // The probabilities are an output.
  EXPECT_EQ(applied(kt + "p = Softmax(s)\n y = MatMul(p, v)", "y, p"), 0);
  // Softmax over the queries.
  EXPECT_EQ(applied(kt + "p = Softmax{axis=2}(s)\n y = MatMul(p, v)"), 0);
  // One column that broadcasts over the keys: to Attention, a mask of one key.
  EXPECT_EQ(applied(kt + "m = Add(s, columns)\n p = Softmax(m)\n y = MatMul(p, v)"), 0);
  // A batch that broadcasts, or may.
  for (const char* batch : {"1", "?"}) {
    EXPECT_EQ(RunOnePass("fuse_attention", "graph g (q: float[2,4,3,8], k: float[" +
                                               std::string(batch) + R"(,4,5,8], v: float[2,4,5,6])
      -> (y) {
      kt = Transpose{perm=[0,1,3,2]}(k)
      s = MatMul(q, kt)
      p = Softmax(s)
      y = MatMul(p, v)
    })")
                  .applied,
              0);
  }
}

TEST(MergeReshapes, OneReshapeOrNone) {
  const Rewritten r = RunOnePass("merge_reshapes", R"(
    graph g (x: float[n,2,3]) -> (y, z) {
      a_shape = constant int64[2] {-1,6}
      b_shape = constant int64[3] {-1,3,2}
      back = constant int64[3] {-1,2,3}
      axes = constant int64[1] {1}
      p = Relu(x)
      a = Reshape(p, a_shape)
      b = Reshape(a, b_shape)
      y = Neg(b)
      c = Unsqueeze(p, axes)
      d = Reshape(c, back)
      z = Neg(d)
    })");
  EXPECT_EQ(r.applied, 2);
  EXPECT_TRUE(SameOutputs(r));
  EXPECT_THAT(r.ops(), ElementsAre("Relu", "Reshape", "Neg", "Neg"));
}

TEST(MergeReshapes, KeepsTwoUnknownDimensions) {
  const Rewritten r = RunOnePass("merge_reshapes", R"(
    graph g (x: float[n,m,3], s: int64[3]) -> (y) {
      a_shape = constant int64[2] {-1,3}
      a = Reshape(x, a_shape)
      y = Reshape(a, s)
    })");
  EXPECT_EQ(r.applied, 0);
}

}  // namespace
}  // namespace inferd::engine
