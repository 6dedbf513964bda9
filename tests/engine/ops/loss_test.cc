// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <cmath>

#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;

// Two positions of three classes.
Tensor LogProbabilities() { return MakeTensor<float>({2, 3}, {-1, -2, -3, -4, -5, -6}); }

OpTester LossTester(const char* op, const char* reduction) {
  OpTester tester(op);
  tester.Attr("reduction", std::string(reduction)).Input(LogProbabilities());
  return tester;
}

TEST(NegativeLogLikelihoodLossTest, WeightsAndReductions) {
  const auto run = [](const char* reduction) {
    return LossTester("NegativeLogLikelihoodLoss", reduction)
        .Input(MakeTensor<int64_t>({2}, {1, 2}))
        .Input(MakeTensor<float>({3}, {1, 2, 4}))
        .Run1();
  };
  ASSERT_OK_AND_ASSIGN(const Tensor none, run("none"));
  EXPECT_THAT(none, TensorIs<float>({2}, {4, 24}));
  ASSERT_OK_AND_ASSIGN(const Tensor sum, run("sum"));
  EXPECT_THAT(sum, TensorIs<float>({}, {28}));
  ASSERT_OK_AND_ASSIGN(const Tensor mean, run("mean"));
  EXPECT_THAT(mean, TensorIs<float>({}, {28.0f / 6}, 1e-6));
}

TEST(NegativeLogLikelihoodLossTest, IgnoredPositionsDoNotCount) {
  // An ignored class need not exist.
  for (int64_t ignored : {-7, 0}) {
    OpTester tester = LossTester("NegativeLogLikelihoodLoss", "mean");
    tester.Attr("ignore_index", ignored)
        .Input(MakeTensor<int32_t>({2}, {static_cast<int32_t>(ignored), 1}));
    ASSERT_OK_AND_ASSIGN(const Tensor mean, tester.Run1());
    EXPECT_THAT(mean, TensorIs<float>({}, {5}));
  }
}

TEST(NegativeLogLikelihoodLossTest, ClassesAreAxisOneOfAnyRank) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       OpTester("NegativeLogLikelihoodLoss")
                           .Attr("reduction", std::string("none"))
                           .Input(MakeTensor<double>({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6}))
                           .Input(MakeTensor<int64_t>({1, 1, 3}, {0, 1, 0}))
                           .Run1());
  EXPECT_THAT(y, TensorIs<double>({1, 1, 3}, {-1, -5, -3}));
}

TEST(SoftmaxCrossEntropyLossTest, LossAndLogProbabilities) {
  ASSERT_OK_AND_ASSIGN(const auto y, LossTester("SoftmaxCrossEntropyLoss", "none")
                                         .Input(MakeTensor<int64_t>({2}, {0, 2}))
                                         .Outputs(2)
                                         .Run());
  const float log_sum = std::log(1 + std::exp(-1.0f) + std::exp(-2.0f));
  EXPECT_THAT(y[0], TensorIs<float>({2}, {log_sum, log_sum + 2}, 1e-6));
  EXPECT_THAT(y[1], TensorIs<float>({2, 3},
                                    {-log_sum, -log_sum - 1, -log_sum - 2, -log_sum, -log_sum - 1,
                                     -log_sum - 2},
                                    1e-6));
}

TEST(SoftmaxCrossEntropyLossTest, LargeScoresDoNotOverflow) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, OpTester("SoftmaxCrossEntropyLoss")
                                           .Input(MakeFrom<Float16>({1, 2}, {60000, -60000}))
                                           .Input(MakeTensor<int64_t>({1}, {0}))
                                           .Run1());
  EXPECT_THAT(y, TensorIsFrom<Float16>({}, {0}));
}

TEST(LossTest, BadArgumentsAreNamed) {
  const auto error = [](OpTester& tester) { return tester.Run().status(); };
  OpTester range = LossTester("NegativeLogLikelihoodLoss", "sum");
  EXPECT_THAT(error(range.Input(MakeTensor<int64_t>({2}, {0, 3}))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("class 3")));
  OpTester shape = LossTester("SoftmaxCrossEntropyLoss", "sum");
  EXPECT_THAT(error(shape.Input(MakeTensor<int64_t>({3}, {0, 0, 0}))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("input 1 has shape [3]")));
  OpTester reduction = LossTester("SoftmaxCrossEntropyLoss", "median");
  EXPECT_THAT(error(reduction.Input(MakeTensor<int64_t>({2}, {0, 0}))),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("median")));
}

}  // namespace
}  // namespace inferd::engine
