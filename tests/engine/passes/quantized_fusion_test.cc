// Operators between DequantizeLinear and QuantizeLinear.
#include <string>

#include "absl/strings/str_replace.h"
#include "tests/engine/passes/pass_tester.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;

// A result may differ by one step, which is 0.0625 here, where float sums and integer sums round
// to different sides.
constexpr double kStep = 0.0626;

// A convolution with scales per channel and, in the place of CLAMP, one more node.
std::string Convolution(absl::string_view clamp, absl::string_view zero_point) {
  return absl::StrReplaceAll(R"(
    graph g (x: float[1,2,5,5]) -> (y) {
      xs = constant float[] {0.0078125}
      xz = constant uint8[] {128}
      w = constant int8[2,2,1,1] {10,-20,30,40}
      ws = constant float[2] {0.03125,0.0625}
      wz = constant int8[2] {0,0}
      b = constant int32[2] {100,-200}
      bs = constant float[2] {0.000244140625,0.00048828125}
      ys = constant float[] {0.0625}
      yz = constant uint8[] {ZERO}
      q = QuantizeLinear(x, xs, xz)
      xf = DequantizeLinear(q, xs, xz)
      wi = Identity(w)
      wf = DequantizeLinear{axis=0}(wi, ws, wz)
      bf = DequantizeLinear{axis=0}(b, bs)
      c = Conv(xf, wf, bf)
      CLAMP
      r = QuantizeLinear(t, ys, yz)
      y = DequantizeLinear(r, ys, yz)
    })",
                             {{"CLAMP", clamp}, {"ZERO", zero_point}});
}

TEST(FuseQuantized, ConvolutionWithScalesPerChannel) {
  const Rewritten r = RunEveryPass(Convolution("t = Identity(c)", "100"));
  EXPECT_THAT(r.ops(), ElementsAre("QuantizeLinear", "QLinearConv", "DequantizeLinear"));
  EXPECT_TRUE(SameOutputs(r, kStep));
}

TEST(FuseQuantized, LeavesABiasOfOtherScalesAlone) {
  std::string text = Convolution("t = Identity(c)", "100");
  absl::StrReplaceAll({{"0.00048828125", "0.0005"}}, &text);
  EXPECT_THAT(RunOnePass("fuse_quantized", text).ops(), ::testing::Contains("Conv"));
}

TEST(FuseQuantized, ReluGoesWhereTheZeroPointIsTheLowestValue) {
  const Rewritten gone = RunEveryPass(Convolution("t = Relu(c)", "0"));
  EXPECT_THAT(gone.ops(), ElementsAre("QuantizeLinear", "QLinearConv", "DequantizeLinear"));
  EXPECT_TRUE(SameOutputs(gone, kStep));
  const Rewritten kept = RunOnePass("fuse_quantized", Convolution("t = Relu(c)", "100"));
  EXPECT_THAT(kept.ops(), ::testing::Contains("Relu"));
}

TEST(FuseQuantized, AddAndMovement) {
  const Rewritten r = RunEveryPass(R"(
    graph g (a: float[2,3], b: float[3]) -> (y) {
      s = constant float[] {0.0078125}
      z = constant int8[] {3}
      ys = constant float[] {0.0625}
      yz = constant int8[] {0}
      qa = QuantizeLinear(a, s, z)
      qb = QuantizeLinear(b, s, z)
      fa = DequantizeLinear(qa, s, z)
      fb = DequantizeLinear(qb, s, z)
      sum = Add(fa, fb)
      q = QuantizeLinear(sum, ys, yz)
      f = DequantizeLinear(q, ys, yz)
      t = Transpose{perm=[1,0]}(f)
      qt = QuantizeLinear(t, ys, yz)
      y = DequantizeLinear(qt, ys, yz)
    })");
  EXPECT_THAT(r.ops(), ElementsAre("QuantizeLinear", "QuantizeLinear", "com.microsoft::QLinearAdd",
                                   "Transpose", "DequantizeLinear"));
  EXPECT_TRUE(SameOutputs(r, kStep));
}

TEST(FuseQuantized, KeepsWhatIsReadInFloat) {
  const Rewritten r = RunOnePass("fuse_quantized", R"(
    graph g (a: uint8[2,3]) -> (y, sum) {
      s = constant float[] {0.0078125}
      f = DequantizeLinear(a, s)
      sum = Add(f, f)
      y = QuantizeLinear(sum, s)
    })");
  EXPECT_EQ(r.applied, 0);
}

}  // namespace
}  // namespace inferd::engine
