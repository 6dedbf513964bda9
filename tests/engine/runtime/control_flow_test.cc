// If, Loop, Scan: bodies run as models of their own, optimized and eager alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "engine/runtime/model_impl.h"
#include "tests/engine/runtime/test_graphs.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ControlFlowTest : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Context> Load(const std::string& text) {
    ModelOptions options;
    options.eager = GetParam();
    auto model = ModelFromText(text, options);
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return nullptr;
    model_ = *std::move(model);
    return ContextFor(*model_);
  }
  std::vector<Tensor> Run(Context& context, const std::vector<Tensor>& inputs) {
    auto outputs = RunOnce(context, inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? *std::move(outputs) : std::vector<Tensor>();
  }
  std::shared_ptr<Model> model_;
};

Tensor Bool(bool value) { return Tensor::Scalar<bool>(value); }
Tensor Count(int64_t value) { return Tensor::Scalar<int64_t>(value); }

TEST_P(ControlFlowTest, IfRunsOneBranchOnCapturedValues) {
  auto context = Load(R"(
graph g (c: bool[], x: float[n]) -> (y, z) {
  h = Neg(x)
  y = If{then_branch={graph then () -> (t) { t = Add(x, h) }},
         else_branch={graph else () -> (e) { s = Sub(x, h) e = Abs(s) }}}(c)
  z = Abs(y)
})");
  for (int round = 0; round < 2; ++round) {
    auto outputs = Run(*context, {Bool(true), Floats({2}, {1, -2})});
    EXPECT_THAT(ValuesOf(outputs[0]), ElementsAre(0, 0));
    outputs = Run(*context, {Bool(false), Floats({2}, {1, -2})});
    EXPECT_THAT(ValuesOf(outputs[0]), ElementsAre(2, 4));
    EXPECT_THAT(ValuesOf(outputs[1]), ElementsAre(2, 4));
  }
}

TEST_P(ControlFlowTest, BranchesMayDifferInRank) {
  auto context = Load(R"(
graph g (c: bool[1], x: float[n]) -> (y) {
  y = If{then_branch={graph then () -> (t) { a = constant int64[1] {0} t = Unsqueeze(x, a) }},
         else_branch={graph else () -> (e) { e = Neg(x) }}}(c)
})");
  const Tensor yes = Tensor::FromValues<bool>({1}, std::array<bool, 1>{true});
  const Tensor no = Tensor::FromValues<bool>({1}, std::array<bool, 1>{false});
  EXPECT_EQ(Run(*context, {yes, Ramp({3})})[0].shape(), (Shape{1, 3}));
  EXPECT_EQ(Run(*context, {no, Ramp({3})})[0].shape(), (Shape{3}));
}

TEST_P(ControlFlowTest, NestedBodiesReachTheOutermostValues) {
  auto context = Load(R"(
graph g (c: bool[], x: float[n]) -> (y) {
  y = If{then_branch={graph then () -> (t) {
           d = Not(c)
           t = If{then_branch={graph a () -> (u) { u = Neg(x) }},
                  else_branch={graph b () -> (v) { v = Add(x, x) }}}(d) }},
         else_branch={graph else () -> (e) { e = Abs(x) }}}(c)
})");
  EXPECT_THAT(ValuesOf(Run(*context, {Bool(true), Floats({2}, {1, -2})})[0]), ElementsAre(2, -4));
  EXPECT_THAT(ValuesOf(Run(*context, {Bool(false), Floats({2}, {1, -2})})[0]), ElementsAre(1, 2));
}

constexpr char kPowers[] = R"(
graph g (trips: int64[], x: float[n]) -> (last, all) {
  go = constant bool[] {true}
  last, all = Loop{body={graph b (i: int64[], c: bool[], v: float[n]) -> (c2, v2, s) {
    c2 = Identity(c)
    v2 = Mul(v, x)
    s = Identity(v2)
  }}}(trips, go, x)
})";

TEST_P(ControlFlowTest, LoopCarriesAndStacks) {
  auto context = Load(kPowers);
  for (int round = 0; round < 2; ++round) {
    auto outputs = Run(*context, {Count(3), Floats({2}, {2, 3})});
    EXPECT_THAT(ValuesOf(outputs[0]), ElementsAre(16, 81));
    EXPECT_EQ(outputs[1].shape(), (Shape{3, 2}));
    EXPECT_THAT(ValuesOf(outputs[1]), ElementsAre(4, 9, 8, 27, 16, 81));
  }
}

TEST_P(ControlFlowTest, ALoopThatNeverRunsGivesItsInitialValuesAndNoSlices) {
  auto context = Load(kPowers);
  auto outputs = Run(*context, {Count(0), Floats({2}, {2, 3})});
  EXPECT_THAT(ValuesOf(outputs[0]), ElementsAre(2, 3));
  EXPECT_EQ(outputs[1].shape()[0], 0);
  EXPECT_THAT(ValuesOf(outputs[1]), IsEmpty());
}

TEST_P(ControlFlowTest, ALoopWithoutTripCountEndsByItsCondition) {
  auto context = Load(R"(
graph g (x: float[], limit: float[]) -> (y) {
  go = constant bool[] {true}
  y = Loop{body={graph b (i: int64[], c: bool[], v: float[]) -> (c2, v2) {
    v2 = Add(v, v)
    c2 = Less(v2, limit)
  }}}(_, go, x)
})");
  EXPECT_THAT(ValuesOf(Run(*context, {Floats({}, {1}), Floats({}, {100})})[0]), ElementsAre(128));
}

TEST_P(ControlFlowTest, CarriedShapesMayGrow) {
  auto context = Load(R"(
graph g (trips: int64[], x: float[n]) -> (y) {
  y = Loop{body={graph b (i: int64[], c: bool[], v: float[1]) -> (c2, v2) {
    c2 = Identity(c)
    v2 = Concat{axis=0}(v, x)
  }}}(trips, _, x)
})");
  EXPECT_EQ(Run(*context, {Count(3), Ramp({2})})[0].shape(), (Shape{8}));
}

TEST_P(ControlFlowTest, ErrorsInABodyNameTheIteration) {
  auto context = Load(R"(
graph g (x: float[n]) -> (y) {
  trips = constant int64[] {4}
  y = Loop{body={graph b (i: int64[], c: bool[], v: float[n]) -> (c2, v2) {
    c2 = Identity(c)
    two = Concat{axis=0}(v, v)
    v2 = Add(two, x)
  }}}(trips, _, x) @ "the loop"
})");
  const auto failed = RunOnce(*context, {Ramp({3})});
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(failed.status().message(), HasSubstr("the loop (Loop): iteration 0: body: Add"));
}

TEST_P(ControlFlowTest, ScanGoesAlongAnyAxisInEitherDirection) {
  auto context = Load(R"(
graph g (init: float[2], x: float[2,n]) -> (sum, sums) {
  sum, sums = Scan{num_scan_inputs=1 scan_input_axes=[1] scan_input_directions=[1]
                   scan_output_axes=[1] scan_output_directions=[1]
    body={graph b (s: float[2], v: float[2]) -> (s2, o) { s2 = Add(s, v) o = Identity(s2) }}
  }(init, x)
})");
  auto outputs = Run(*context, {Floats({2}, {0, 0}), Floats({2, 3}, {1, 2, 3, 10, 20, 30})});
  EXPECT_THAT(ValuesOf(outputs[0]), ElementsAre(6, 60));
  EXPECT_EQ(outputs[1].shape(), (Shape{2, 3}));
  // Summed from the last slice on, and stacked from the end.
  EXPECT_THAT(ValuesOf(outputs[1]), ElementsAre(6, 5, 3, 60, 50, 30));
}

TEST_P(ControlFlowTest, SequencesGrowInALoop) {
  auto context = Load(R"(
graph g (trips: int64[], x: float[n]) -> (y, n) {
  none = SequenceEmpty()
  all = Loop{body={graph b (i: int64[], c: bool[], v: seq(float[...])) -> (c2, v2) {
    c2 = Identity(c)
    k = Cast{to=1}(i)
    xs = Add(x, k)
    v2 = SequenceInsert(v, xs)
  }}}(trips, _, none)
  y = ConcatFromSequence{axis=0}(all)
  n = SequenceLength(all)
})");
  auto outputs = Run(*context, {Count(3), Ramp({2})});
  EXPECT_THAT(ValuesOf(outputs[0]), ElementsAre(0, 1, 1, 2, 2, 3));
  EXPECT_EQ(outputs[1].data<int64_t>()[0], 3);
}

TEST(InlineConstantIfTest, AKnownConditionLeavesNoIf) {
  auto model = ModelFromText(R"(
graph g (x: float[n]) -> (y) {
  c = constant bool[] {false}
  h = Neg(x)
  z = If{then_branch={graph then () -> (t) { t = Abs(x) }},
         else_branch={graph else () -> (e) { k = constant float[] {2} e = Mul(h, k) }}}(c)
  y = Exp(z)
})");
  ASSERT_TRUE(model.ok()) << model.status();
  for (const auto& node : (*model)->graph().nodes()) EXPECT_NE(node->op().name, "If");
  auto outputs = RunOnce(*ContextFor(**model), {Floats({2}, {0, 1})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_FLOAT_EQ(ValuesOf((*outputs)[0])[1], std::exp(-2.0f));
}

INSTANTIATE_TEST_SUITE_P(OptimizedAndEager, ControlFlowTest, ::testing::Bool(),
                         [](const auto& how) { return how.param ? "Eager" : "Optimized"; });

}  // namespace
}  // namespace inferd::engine
