// What the generation operators rank tokens by, and the hypotheses a beam search keeps.
#include "engine/ops/microsoft/generation/token_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/ops/microsoft/generation/beam_hypotheses.h"
#include "tests/engine/ops/op_tester.h"

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kForbidden = std::numeric_limits<float>::lowest();

TEST(TokenScoresTest, OnlyTheLastPositionCounts) {
  const Tensor logits = MakeTensor<float>({1, 2, 3}, {9, 9, 9, 1, 2, 3});
  std::vector<float> scores;
  ASSERT_TRUE(LogitsOfLast(logits.view(), 1, 3, &scores).ok());
  EXPECT_THAT(scores, ElementsAre(1, 2, 3));
  ASSERT_TRUE(LogProbabilitiesOfLast(logits.view(), 1, 3, &scores).ok());
  double sum = 0;
  for (float score : scores) sum += std::exp(double(score));
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_NEAR(scores[2] - scores[0], 2, 1e-6);
}

TEST(TokenScoresTest, LogitsOfAnotherFormAreRefused) {
  std::vector<float> scores;
  const Tensor flat = MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(LogitsOfLast(flat.view(), 2, 3, &scores).message(), HasSubstr("[2,3]"));
  const Tensor integers = MakeTensor<int32_t>({1, 1, 2}, {1, 2});
  EXPECT_THAT(LogitsOfLast(integers.view(), 1, 2, &scores).message(), HasSubstr("int32"));
}

TEST(TokenScoresTest, RepetitionIsPenalizedOnEitherSideOfZero) {
  std::vector<float> scores = {2, -2, 1};
  ApplyScoreRules({.repetition_penalty = 2}, {{0, 1, 1}}, /*batch=*/1, /*step=*/0, &scores);
  EXPECT_THAT(scores, ElementsAre(1, -4, 1));
}

TEST(TokenScoresTest, NoSequenceOfTwoTwice) {
  std::vector<float> scores = {0, 0, 0};
  // After 1 came 2 before.
  ApplyScoreRules({.no_repeat_ngram = 2}, {{1, 2, 0, 1}}, 1, 0, &scores);
  EXPECT_THAT(scores, ElementsAre(0, 0, kForbidden));
}

TEST(TokenScoresTest, TheEndWaitsForTheShortestLength) {
  std::vector<float> scores = {0, 0, 0, 0};
  ApplyScoreRules({.min_length = 2, .eos_token = 1}, {{0}, {0}}, 1, 0, &scores);
  EXPECT_THAT(scores, ElementsAre(0, kForbidden, 0, kForbidden));
  scores = {0, 0};
  ApplyScoreRules({.min_length = 2, .eos_token = 1}, {{0, 0}}, 1, 0, &scores);
  EXPECT_THAT(scores, ElementsAre(0, 0));
}

TEST(TokenScoresTest, APrefixMaskHoldsForTheFirstTokenOfItsItem) {
  const std::vector<int32_t> mask = {1, 0, 0, 1};
  const ScoreRules rules = {.prefix_vocab_mask = mask};
  std::vector<float> scores = {0, 0, 0, 0};
  ApplyScoreRules(rules, {{0}, {0}}, /*batch=*/2, /*step=*/0, &scores);
  EXPECT_THAT(scores, ElementsAre(0, kForbidden, kForbidden, 0));
  scores = {0, 0, 0, 0};
  ApplyScoreRules(rules, {{0}, {0}}, /*batch=*/2, /*step=*/1, &scores);
  EXPECT_THAT(scores, ElementsAre(0, 0, 0, 0));
}

TEST(BeamHypothesesTest, KeepsTheBestByMeanScore) {
  BeamHypotheses kept(/*capacity=*/2, /*length_penalty=*/1, /*early_stopping=*/false);
  kept.Add({1, 2}, -4);  // -2 a token
  EXPECT_FALSE(kept.IsDone(-100, 1)) << "there is room";
  kept.Add({1, 2, 3, 4}, -4);  // -1
  kept.Add({1}, -3);           // -3: too low
  ASSERT_EQ(kept.sorted().size(), 2);
  EXPECT_FLOAT_EQ(kept.sorted()[0].score, -1);
  EXPECT_FLOAT_EQ(kept.sorted()[1].score, -2);
  EXPECT_TRUE(kept.IsDone(-5, 2)) << "-2.5 a token cannot win";
  EXPECT_FALSE(kept.IsDone(-3, 2)) << "-1.5 can";
}

TEST(BeamHypothesesTest, EarlyStoppingEndsWhenFull) {
  BeamHypotheses kept(1, 1, /*early_stopping=*/true);
  kept.Add({1}, -9);
  EXPECT_TRUE(kept.IsDone(0, 1));
}

}  // namespace
}  // namespace inferd::engine
