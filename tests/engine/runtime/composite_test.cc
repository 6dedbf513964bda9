// Sequences and optionals: values that are no tensors, between nodes and at a model's border.
#include "engine/tensor/composite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/runtime/test_graphs.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CompositeTest : public ::testing::TestWithParam<bool> {
 protected:
  absl::StatusOr<std::vector<Tensor>> Run(const std::string& text,
                                          const std::vector<Tensor>& inputs) {
    ModelOptions options;
    options.eager = GetParam();
    auto model = ModelFromText(text, options);
    if (!model.ok()) return model.status();
    return RunOnce(*ContextFor(**model), inputs);
  }
};

Tensor Position(int64_t value) { return Tensor::Scalar<int64_t>(value); }

TEST_P(CompositeTest, ElementsAreCountedFromEitherEnd) {
  constexpr char kText[] = R"(
graph g (x: float[n], p: int64[]) -> (y, length) {
  a = Neg(x)
  first = constant int64[] {0}
  s = SequenceConstruct(x, a, x)
  t = SequenceErase(s, first)
  y = SequenceAt(t, p)
  length = SequenceLength(t)
})";
  for (const auto& [position, expected] :
       {std::pair(0, -1.0f), std::pair(1, 1.0f), std::pair(-1, 1.0f), std::pair(-2, -1.0f)}) {
    auto outputs = Run(kText, {Floats({1}, {1}), Position(position)});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT(ValuesOf((*outputs)[0]), ElementsAre(expected)) << position;
    EXPECT_EQ((*outputs)[1].data<int64_t>()[0], 2);
  }
  for (int position : {2, -3}) {
    const auto outputs = Run(kText, {Floats({1}, {1}), Position(position)});
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(outputs.status().message(), HasSubstr("outside of a sequence of 2 elements"));
  }
}

TEST_P(CompositeTest, InsertsAnywhere) {
  constexpr char kText[] = R"(
graph g (x: float[n], p: int64[]) -> (y) {
  a = Neg(x)
  s = SequenceConstruct(x, x)
  t = SequenceInsert(s, a, p)
  y = ConcatFromSequence{axis=0}(t)
})";
  const auto values = [&](int64_t position) {
    auto outputs = Run(kText, {Floats({1}, {1}), Position(position)});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return outputs.ok() ? ValuesOf((*outputs)[0]) : std::vector<float>();
  };
  EXPECT_THAT(values(0), ElementsAre(-1, 1, 1));
  EXPECT_THAT(values(2), ElementsAre(1, 1, -1));
  EXPECT_THAT(values(-1), ElementsAre(1, -1, 1));
}

TEST_P(CompositeTest, SplitsByLengthsAndByLength) {
  constexpr char kText[] = R"(
graph g (x: float[n,m], lengths: int64[k], each: int64[]) -> (a, b, c) {
  s = SplitToSequence{axis=1}(x, lengths)
  t = SplitToSequence{axis=1}(x, each)
  u = SplitToSequence{axis=0, keepdims=0}(x)
  one = constant int64[] {1}
  a = SequenceAt(s, one)
  b = SequenceAt(t, one)
  c = SequenceAt(u, one)
})";
  auto outputs = Run(kText, {Ramp({2, 3}), Tensor::Vector({1, 2}), Position(2)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(ValuesOf((*outputs)[0]), ElementsAre(1, 2, 4, 5));
  EXPECT_EQ((*outputs)[1].shape(), (Shape{2, 1}));
  EXPECT_THAT(ValuesOf((*outputs)[1]), ElementsAre(2, 5));
  EXPECT_EQ((*outputs)[2].shape(), (Shape{3}));
  EXPECT_THAT(ValuesOf((*outputs)[2]), ElementsAre(3, 4, 5));
  const auto wrong = Run(kText, {Ramp({2, 3}), Tensor::Vector({1, 1}), Position(2)});
  EXPECT_THAT(wrong.status().message(), HasSubstr("sum to 2, expected 3"));
}

TEST_P(CompositeTest, ElementsThatDoNotJoinAreNamed) {
  const auto outputs = Run(R"(
graph g (x: float[n], y: float[m]) -> (z) {
  s = SequenceConstruct(x, y)
  z = ConcatFromSequence{axis=0, new_axis=1}(s)
})",
                           {Ramp({2}), Ramp({3})});
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(outputs.status().message(),
              HasSubstr("element 1 is float[3], element 0 float[2]; they do not join"));
}

TEST_P(CompositeTest, OptionalsHoldOrLackAValue) {
  auto outputs = Run(R"(
graph g (x: float[n]) -> (has, y, nothing) {
  o = Optional(x)
  has = OptionalHasElement(o)
  y = OptionalGetElement(o)
  nothing = OptionalHasElement()
})",
                     {Ramp({2})});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_TRUE((*outputs)[0].data<bool>()[0]);
  EXPECT_THAT(ValuesOf((*outputs)[1]), ElementsAre(0, 1));
  EXPECT_FALSE((*outputs)[2].data<bool>()[0]);
}

TEST_P(CompositeTest, CrossTheBorderOfAModel) {
  Composite sequence;
  sequence.items = {Ramp({2}), Ramp({3})};
  auto outputs = Run(R"(
graph g (s: seq(float[...])) -> (same, longer) {
  same = Identity(s)
  one = constant int64[] {1}
  x = SequenceAt(s, one)
  longer = SequenceInsert(s, x)
})",
                     {MakeComposite(sequence)});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ((*outputs)[0].type(), ElementType::kComposite);
  EXPECT_EQ(CompositeOf((*outputs)[0].view()).items.size(), 2);
  EXPECT_THAT(ValuesOf(CompositeOf((*outputs)[1].view()).items[2]), ElementsAre(0, 1, 2));
}

TEST_P(CompositeTest, ATensorIsNoSequenceAndASequenceNoTensor) {
  const auto tensor =
      Run("graph g (s: seq(float[...])) -> (y) { y = SequenceLength(s) }", {Ramp({2})});
  EXPECT_EQ(tensor.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(tensor.status().message(), HasSubstr("expected a seq(float[...]), found a tensor"));
  const auto sequence = Run(R"(
graph g (x: float[n]) -> (y) {
  s = SequenceConstruct(x)
  y = Neg(s)
})",
                            {Ramp({2})});
  EXPECT_EQ(sequence.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(sequence.status().message(), HasSubstr("is a seq(float[...])"));
}

INSTANTIATE_TEST_SUITE_P(OptimizedAndEager, CompositeTest, ::testing::Bool(),
                         [](const auto& how) { return how.param ? "Eager" : "Optimized"; });

}  // namespace
}  // namespace inferd::engine
