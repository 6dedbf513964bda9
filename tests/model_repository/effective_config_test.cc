#include "model_repository/effective_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::repository {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const BatchAxis kFree{BatchAxis::Kind::kFree, ""};
const BatchAxis kFixed{BatchAxis::Kind::kNone, "input 'x' has a fixed first dimension 1"};
const BatchAxis kAmbiguous{BatchAxis::Kind::kAmbiguous, "x and y differ"};

ModelConfig Parse(const std::string& yaml) {
  auto config = ParseModelConfig(yaml, "c.yaml");
  EXPECT_TRUE(config.ok()) << config.status();
  return *std::move(config);
}
RowCheck Independent() { return {RowCheck::Outcome::kIndependent, ""}; }
RowCheck Dependent() { return {RowCheck::Outcome::kDependent, "output 'y' mixes rows"}; }
RowCheck Inconclusive() { return {RowCheck::Outcome::kInconclusive, "index out of range"}; }

TEST(ResolveBatchingTest, DefaultsFollowFromTheModel) {
  ModelConfig config;
  std::vector<std::string> notes;
  ASSERT_TRUE(ResolveBatching(config, kFree, Independent, notes).ok());
  EXPECT_EQ(config.max_batch_size, kDefaultMaxBatchSize);
  EXPECT_THAT(notes, IsEmpty());
}

TEST(ResolveBatchingTest, UnbatchedModelsSayWhy) {
  const auto never = []() -> RowCheck {
    ADD_FAILURE();
    return {};
  };
  for (const auto& [axis, reason] : std::vector<std::pair<BatchAxis, std::string>>{
           {kFixed, kFixed.reason}, {kAmbiguous, "set max_batch_size"}}) {
    ModelConfig config;
    std::vector<std::string> notes;
    ASSERT_TRUE(ResolveBatching(config, axis, never, notes).ok());
    EXPECT_EQ(config.max_batch_size, 1);
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_THAT(notes[0], HasSubstr("served unbatched"));
    EXPECT_THAT(notes[0], HasSubstr(reason));
  }
}

TEST(ResolveBatchingTest, BatchesTheModelCannotTakeAreRefusedWithTheFix) {
  ModelConfig config = Parse("# a comment\nmax_batch_size: 8\n");
  std::vector<std::string> notes;
  const absl::Status status = ResolveBatching(config, kFixed, Independent, notes);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("c.yaml:2:17: max_batch_size: found 8"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(kFixed.reason));
  EXPECT_THAT(std::string(status.message()), HasSubstr("remove max_batch_size"));
}

TEST(ResolveBatchingTest, OneIsAlwaysAllowed) {
  ModelConfig config = Parse("max_batch_size: 1\n");
  std::vector<std::string> notes;
  EXPECT_TRUE(ResolveBatching(config, kFixed, Independent, notes).ok());
  EXPECT_THAT(notes, ElementsAre("served unbatched: max_batch_size is 1"));
}

TEST(ResolveBatchingTest, RowsThatInfluenceEachOtherAreNotBatchedUnlessAskedFor) {
  ModelConfig config;
  std::vector<std::string> notes;
  ASSERT_TRUE(ResolveBatching(config, kFree, Dependent, notes).ok());
  EXPECT_EQ(config.max_batch_size, 1);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("output 'y' mixes rows")));

  config = Parse("max_batch_size: 4\n");
  notes.clear();
  ASSERT_TRUE(ResolveBatching(config, kFree, Dependent, notes).ok());
  EXPECT_EQ(config.max_batch_size, 4);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("may depend on what else is served")));

  config = ModelConfig();
  notes.clear();
  ASSERT_TRUE(ResolveBatching(config, kFree, Inconclusive, notes).ok());
  EXPECT_EQ(config.max_batch_size, kDefaultMaxBatchSize);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("without a trial: index out of range")));
}

TEST(ResolveBatchingTest, BatchingKeysOnAnUnbatchedModelAreRefused) {
  for (const char* yaml : {"batching: {max_delay: 2ms}\n", "batching: {preferred_sizes: [4]}\n"}) {
    ModelConfig config = Parse(yaml);
    std::vector<std::string> notes;
    const absl::Status status = ResolveBatching(config, kFixed, Independent, notes);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("c.yaml:1:"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("remove it"));
  }
}

TEST(ResolveBatchingTest, PreferredSizesRaiseTheDefault) {
  ModelConfig config = Parse("batching: {preferred_sizes: [64]}\n");
  std::vector<std::string> notes;
  ASSERT_TRUE(ResolveBatching(config, kFree, Independent, notes).ok());
  EXPECT_EQ(config.max_batch_size, 64);
}

std::optional<absl::Duration> Unknown() { return std::nullopt; }

TEST(ResolveInstancesTest, DefaultsFollowFromTheMachine) {
  std::vector<std::string> notes;
  ModelConfig small;
  ASSERT_TRUE(ResolveInstances(small, 2, Unknown, notes).ok());
  EXPECT_THAT(small.instances,
              ElementsAre(InstanceGroupConfig{.device = "cpu", .count = 2, .threads = 1}));
  ModelConfig large;
  ASSERT_TRUE(ResolveInstances(large, 64, Unknown, notes).ok());
  EXPECT_THAT(large.instances,
              ElementsAre(InstanceGroupConfig{.device = "cpu", .count = 8, .threads = 8}));
  ModelConfig shared = Parse("instances: [{count: 2}, {count: 2}]\n");
  ASSERT_TRUE(ResolveInstances(shared, 8, Unknown, notes).ok());
  EXPECT_EQ(shared.instances[0].threads, 2);
  EXPECT_EQ(shared.instances[1].threads, 2);
  EXPECT_THAT(notes, IsEmpty());
}

TEST(ResolveInstancesTest, ATightBudgetGetsAllThreadsForOneInference) {
  std::vector<std::string> notes;
  ModelConfig tight = Parse("latency_budget: 10ms\n");
  ASSERT_TRUE(ResolveInstances(
                  tight, 4, [] { return absl::Milliseconds(6); }, notes)
                  .ok());
  EXPECT_THAT(tight.instances,
              ElementsAre(InstanceGroupConfig{.device = "cpu", .count = 1, .threads = 4}));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("takes 6ms of the budget of 10ms")));

  notes.clear();
  ModelConfig easy = Parse("latency_budget: 10ms\n");
  ASSERT_TRUE(ResolveInstances(
                  easy, 4, [] { return absl::Milliseconds(4); }, notes)
                  .ok());
  EXPECT_THAT(easy.instances,
              ElementsAre(InstanceGroupConfig{.device = "cpu", .count = 4, .threads = 1}));
  EXPECT_THAT(notes, IsEmpty());
}

TEST(ResolveInstancesTest, TooManyThreadsAreNoted) {
  ModelConfig config = Parse("instances: [{count: 3, threads: 4}]\n");
  std::vector<std::string> notes;
  ASSERT_TRUE(ResolveInstances(config, 4, Unknown, notes).ok());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("ask for 12 threads, but the process may use 4")));
}

TEST(ResolveInstancesTest, WhatThisBuildLacksIsRefusedWhereItWasWritten) {
  for (const auto& [yaml, says] : std::vector<std::pair<std::string, std::string>>{
           {"instances:\n - {device: cuda}\n", "c.yaml:2:13: instances[0].device"},
           {"providers: [cuda]\n", "c.yaml:1:12: providers"},
           {"precision: int8\n", "c.yaml:1:12: precision"}}) {
    ModelConfig config = Parse(yaml);
    std::vector<std::string> notes;
    const absl::Status status = ResolveInstances(config, 2, Unknown, notes);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << yaml;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  }
}

TEST(ResolveInstancesTest, ALaterProviderTakesOverWithANote) {
  ModelConfig config = Parse("providers: [cuda, cpu]\nprecision: auto\n");
  std::vector<std::string> notes;
  ASSERT_TRUE(ResolveInstances(config, 2, Unknown, notes).ok());
  EXPECT_THAT(config.providers, ElementsAre("cpu"));
  EXPECT_EQ(config.precision, "fp32");
  EXPECT_THAT(notes, ElementsAre(HasSubstr("cuda is passed over")));
}

TEST(DescribeBatchingTest, SaysThePlan) {
  ModelConfig config = Parse("latency_budget: 20ms\nmax_batch_size: 8\n");
  config.instances = {{.device = "cpu", .count = 1, .threads = 2}};
  EXPECT_EQ(
      DescribeBatching(config),
      "batching: up to 8 rows, closed when full, when waiting would break the budget of 20ms, "
      "or when an instance is idle; instances: 1 on cpu with 2 threads each");
}

}  // namespace
}  // namespace inferd::repository
