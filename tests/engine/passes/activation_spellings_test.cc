// Activations in the spellings exporters decompose them into.
#include <string>
#include <vector>

#include "tests/engine/passes/pass_tester.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;

constexpr double kRounding = 1e-5;

// A graph whose values reach beyond where the functions bend: x is in [-8, 8).
std::string Spelling(const std::string& lines, const std::string& outputs = "y") {
  return "graph g (p: float[2,3,16]) -> (" + outputs + R"G() {
      eight = constant float[] {8}
      zero = constant float[] {0}
      half = constant float[1] {0.5}
      one = constant float[] {1}
      two = constant float[] {2}
      three = constant float[1,1] {3}
      power = constant float[] {3}
      six = constant float[] {6}
      sixth = constant float[] {0.16666667}
      root = constant float[] {1.4142135}
      inverse_root = constant float[] {0.70710677}
      outer = constant float[] {0.7978846}
      inner = constant float[] {0.044715}
      both = constant float[] {0.035677407}
      x = Mul(p, eight)
)G" + lines +
         "\n}";
}

// The rule applies once and leaves this operator behind the scaling of x.
void ExpectFused(absl::string_view pass, const std::string& op,
                 const std::vector<std::string>& spellings) {
  for (const std::string& lines : spellings) {
    SCOPED_TRACE(lines);
    const Rewritten r = RunOnePass(pass, Spelling(lines));
    EXPECT_EQ(r.applied, 1);
    EXPECT_THAT(r.ops(), ElementsAre("Mul", op));
    EXPECT_TRUE(SameOutputs(r, kRounding));
  }
}

void ExpectKept(absl::string_view pass, const std::vector<std::string>& spellings,
                const std::string& outputs = "y") {
  for (const std::string& lines : spellings) {
    SCOPED_TRACE(lines);
    EXPECT_EQ(RunOnePass(pass, Spelling(lines, outputs)).applied, 0);
  }
}

TEST(FuseGelu, ErfForm) {
  ExpectFused("fuse_gelu", "Gelu",
              {
                  "a = Div(x, root)\n b = Erf(a)\n c = Add(b, one)\n d = Mul(x, c)\n"
                  "y = Mul(d, half)",
                  "h = Mul(half, x)\n a = Mul(inverse_root, x)\n b = Erf(a)\n c = Add(one, b)\n"
                  "y = Mul(c, h)",
                  "a = Div(x, root)\n b = Erf(a)\n c = Add(b, one)\n d = Mul(c, half)\n"
                  "y = Mul(x, d)",
                  "a = Mul(x, inverse_root)\n b = Erf(a)\n c = Add(b, one)\n d = Mul(c, x)\n"
                  "y = Div(d, two)",
                  "a = Div(x, root)\n b = Erf(a)\n c = Mul(b, half)\n d = Add(c, half)\n"
                  "y = Mul(d, x)",
              });
}

TEST(FuseGelu, TanhForm) {
  const std::string gate = "e = Tanh(d)\n f = Add(e, one)\n h = Mul(x, half)\n y = Mul(h, f)";
  ExpectFused(
      "fuse_gelu", "Gelu",
      {
          "a = Pow(x, power)\n b = Mul(a, inner)\n c = Add(x, b)\n d = Mul(c, outer)\n" + gate,
          "a = Mul(x, x)\n a3 = Mul(a, x)\n b = Mul(inner, a3)\n c = Add(b, x)\n"
          "d = Mul(outer, c)\n" +
              gate,
          "a = Mul(inner, x)\n a2 = Mul(a, x)\n b = Mul(a2, x)\n c = Add(b, x)\n"
          "d = Mul(outer, c)\n" +
              gate,
          "a = Mul(x, x)\n b = Mul(inner, a)\n c = Add(b, one)\n c2 = Mul(outer, x)\n"
          "d = Mul(c2, c)\n" +
              gate,
          "a = Pow(x, power)\n b = Mul(both, a)\n c = Mul(outer, x)\n d = Add(c, b)\n" + gate,
      });
}

TEST(FuseGelu, OtherConstantsAndOtherConsumers) {
  ExpectKept("fuse_gelu",
             {"a = Mul(x, root)\n b = Erf(a)\n c = Add(b, one)\n d = Mul(x, c)\n y = Mul(d, half)",
              "a = Div(x, root)\n b = Erf(a)\n c = Add(b, two)\n d = Mul(x, c)\n y = Mul(d, half)",
              "a = Div(x, root)\n b = Erf(a)\n c = Add(b, one)\n d = Mul(p, c)\n"
              "y = Mul(d, half)"});
  ExpectKept("fuse_gelu",
             {"a = Div(x, root)\n b = Erf(a)\n c = Add(b, one)\n d = Mul(x, c)\n y = Mul(d, half)"},
             "y, b");
}

TEST(FuseSwish, Spellings) {
  ExpectFused("fuse_swish", "Swish",
              {"s = Sigmoid(x)\n y = Mul(x, s)", "s = Sigmoid(x)\n y = Mul(s, x)",
               "n = Neg(x)\n e = Exp(n)\n d = Add(e, one)\n y = Div(x, d)",
               "n = Neg(x)\n e = Exp(n)\n d = Add(one, e)\n r = Div(one, d)\n y = Mul(r, x)"});
}

TEST(FuseScaledSwish, KeepsAlpha) {
  const std::string lines = "a = Mul(two, x)\n s = Sigmoid(a)\n y = Mul(x, s)";
  ExpectFused("fuse_scaled_swish", "Swish", {lines});
  const Rewritten r = RunOnePass("fuse_scaled_swish", Spelling(lines));
  EXPECT_EQ(r.node("Swish")->attributes().GetFloat("alpha", 0), 2.0f);
  ExpectKept("fuse_scaled_swish", {lines}, "y, a");
}

TEST(FuseSwish, OtherConsumerOrOtherArgument) {
  ExpectKept("fuse_swish", {"s = Sigmoid(x)\n t = Neg(x)\n y = Mul(t, s)",
                            "n = Neg(x)\n e = Exp(n)\n d = Add(e, two)\n y = Div(x, d)"});
  ExpectKept("fuse_swish", {"s = Sigmoid(x)\n y = Mul(x, s)"}, "y, s");
}

TEST(FuseHardSwish, Spellings) {
  const std::string clip = "a = Add(x, three)\n b = Clip(a, zero, six)\n";
  const std::string relu = "a = Add(three, x)\n r = Relu(a)\n b = Min(r, six)\n";
  std::vector<std::string> spellings;
  for (const std::string& b : {clip, relu}) {
    spellings.push_back(b + "c = Mul(x, b)\n y = Div(c, six)");
    spellings.push_back(b + "c = Mul(b, x)\n y = Mul(sixth, c)");
    spellings.push_back(b + "c = Div(b, six)\n y = Mul(x, c)");
    spellings.push_back(b + "c = Mul(x, sixth)\n y = Mul(b, c)");
  }
  spellings.push_back(
      "a = Mul(x, sixth)\n b = Add(a, half)\n c = Clip(b, zero, one)\n"
      "y = Mul(c, x)");
  spellings.push_back("c = HardSigmoid{alpha=0.16666667, beta=0.5}(x)\n y = Mul(c, x)");
  spellings.push_back(
      "a = Add(x, three)\n b = Clip(a, _, six)\n r = Relu(b)\n c = Mul(x, r)\n"
      "y = Div(c, six)");
  ExpectFused("fuse_hard_swish", "HardSwish", spellings);
}

TEST(FuseHardSwish, OtherConstantsAndOtherConsumers) {
  ExpectKept("fuse_hard_swish",
             {"a = Add(x, three)\n b = Clip(a, zero, six)\n c = Mul(x, b)\n y = Div(c, three)",
              "a = Add(x, two)\n b = Clip(a, zero, six)\n c = Mul(x, b)\n y = Div(c, six)",
              "a = Add(x, three)\n b = Clip(a, one, six)\n c = Mul(x, b)\n y = Div(c, six)",
              "c = HardSigmoid(x)\n y = Mul(c, x)"});
  ExpectKept("fuse_hard_swish",
             {"a = Add(x, three)\n b = Clip(a, zero, six)\n c = Mul(x, b)\n y = Div(c, six)"},
             "y, a");
}

TEST(FuseHardSigmoid, Spellings) {
  ExpectFused("fuse_hard_sigmoid", "HardSigmoid",
              {"a = Add(x, three)\n b = Clip(a, zero, six)\n y = Div(b, six)",
               "a = Add(three, x)\n r = Relu(a)\n b = Min(six, r)\n y = Mul(sixth, b)",
               "a = Div(x, eight)\n b = Add(a, half)\n y = Clip(b, zero, one)",
               "a = Mul(inner, x)\n b = Add(half, a)\n r = Max(b, zero)\n y = Min(r, one)"});
  ExpectKept("fuse_hard_sigmoid",
             {"a = Add(x, three)\n b = Clip(a, zero, six)\n y = Div(b, three)",
              "a = Div(x, eight)\n b = Add(a, half)\n y = Clip(b, zero, six)"});
  ExpectKept("fuse_hard_sigmoid", {"a = Add(x, three)\n b = Clip(a, zero, six)\n y = Div(b, six)"},
             "y, b");
}

TEST(FuseMish, Spellings) {
  ExpectFused("fuse_mish", "Mish",
              {"a = Softplus(x)\n t = Tanh(a)\n y = Mul(x, t)",
               "e = Exp(x)\n b = Add(one, e)\n a = Log(b)\n t = Tanh(a)\n y = Mul(t, x)"});
  ExpectKept("fuse_mish", {"a = Softplus(x)\n t = Tanh(a)\n y = Mul(p, t)"});
  ExpectKept("fuse_mish", {"a = Softplus(x)\n t = Tanh(a)\n y = Mul(x, t)"}, "y, t");
}

TEST(FuseSoftplus, LogOfOnePlusExp) {
  ExpectFused(
      "fuse_softplus", "Softplus",
      {"e = Exp(x)\n b = Add(one, e)\n y = Log(b)", "e = Exp(x)\n b = Add(e, one)\n y = Log(b)"});
  ExpectKept("fuse_softplus", {"e = Exp(x)\n b = Add(two, e)\n y = Log(b)"});
  ExpectKept("fuse_softplus", {"e = Exp(x)\n b = Add(one, e)\n y = Log(b)"}, "y, e");
}

// A number of higher rank than x gives the result a dimension that the activation has not.
TEST(FuseHardSigmoid, KeepsTheRankOfTheResult) {
  const Rewritten r = RunOnePass("fuse_hard_sigmoid", R"(
    graph g (x: float[4]) -> (y) {
      three = constant float[1,1] {3}
      zero = constant float[] {0}
      six = constant float[] {6}
      a = Add(x, three)
      b = Clip(a, zero, six)
      y = Div(b, six)
    })");
  EXPECT_EQ(r.applied, 0);
}

}  // namespace
}  // namespace inferd::engine
