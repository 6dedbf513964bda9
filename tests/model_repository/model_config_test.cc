#include "model_repository/model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inferd::repository {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOf(const std::string& yaml) {
  const auto config = ParseModelConfig(yaml, "m/config.yaml");
  if (config.ok()) return "(accepted)";
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

TEST(ModelConfigTest, EmptyFileMeansDefaults) {
  for (const char* yaml : {"", "\n", "# only a comment\n", "---\n", "{}"}) {
    const auto config = ParseModelConfig(yaml, "f");
    ASSERT_TRUE(config.ok()) << yaml << config.status();
    EXPECT_FALSE(config->latency_budget.has_value());
    EXPECT_FALSE(config->max_batch_size.has_value());
    EXPECT_TRUE(config->instances.empty());
    EXPECT_EQ(config->queue_max_requests, 1000);
    EXPECT_EQ(config->queue_max_bytes, int64_t{256} << 20);
    EXPECT_EQ(config->precision, "fp32");
    EXPECT_EQ(config->versions, VersionPolicy());
  }
}

TEST(ModelConfigTest, ReadsEveryKey) {
  const auto config = ParseModelConfig(R"(
latency_budget: 20ms
max_batch_size: 32
instances:
  - {device: cuda, count: 2}
  - {device: cuda:1}
  - {device: cpu, count: 1, threads: 2}
providers: [cuda, cpu]
precision: int8
batching: {max_delay: 2ms, preferred_sizes: [8, 16], preserve_order: true}
queue: {max_requests: 500, max_bytes: 64MiB, timeout: 100ms, on_timeout: reject, priorities: 2}
versions: {latest: 2}
)",
                                       "f");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->latency_budget, absl::Milliseconds(20));
  EXPECT_EQ(config->max_batch_size, 32);
  EXPECT_THAT(config->instances,
              ElementsAre(InstanceGroupConfig{.device = "cuda", .count = 2, .threads = 0},
                          InstanceGroupConfig{.device = "cuda:1", .count = 1, .threads = 0},
                          InstanceGroupConfig{.device = "cpu", .count = 1, .threads = 2}));
  EXPECT_THAT(config->providers, ElementsAre("cuda", "cpu"));
  EXPECT_EQ(config->precision, "int8");
  EXPECT_EQ(config->max_delay, absl::Milliseconds(2));
  EXPECT_THAT(config->preferred_sizes, ElementsAre(8, 16));
  EXPECT_TRUE(config->preserve_order);
  EXPECT_EQ(config->queue_max_requests, 500);
  EXPECT_EQ(config->queue_max_bytes, int64_t{64} << 20);
  EXPECT_EQ(config->queue_timeout, absl::Milliseconds(100));
  EXPECT_EQ(config->queue_priorities, 2);
  EXPECT_EQ(config->versions.latest, 2);
  EXPECT_EQ(config->written_at.at("queue.timeout"), "f:11:55");
  EXPECT_EQ(config->written_at.at("instances[2].threads"), "f:7:38");
}

TEST(ModelConfigTest, JsonIsYaml) {
  const auto config = ParseModelConfig(R"({"max_batch_size": 4, "versions": [3, 1, 3]})", "f");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->max_batch_size, 4);
  EXPECT_THAT(config->versions.specific, ElementsAre(1, 3));
}

TEST(ModelConfigTest, SectionWithEverythingCommentedOutIsEmpty) {
  EXPECT_TRUE(ParseModelConfig("batching:\n#  max_delay: 1ms\n", "f").ok());
}

struct Mistake {
  const char* yaml;
  std::vector<std::string> says;
};

TEST(ModelConfigTest, MistakesNamePlaceKeyFoundAndAllowed) {
  const std::vector<Mistake> mistakes = {
      // Unknown keys.
      {"max_batchsize: 8\n",
       {"m/config.yaml:1:1: max_batchsize: unknown key", "did you mean max_batch_size?",
        "latency_budget"}},
      {"queue:\n  max_request: 8\n",
       {"m/config.yaml:2:3: queue.max_request", "did you mean max_requests?"}},
      {"timeout: 5ms\n", {"timeout: unknown key", "did you mean queue.timeout?"}},
      {"instances: [{devise: cpu}]\n", {"1:14: instances[0].devise", "did you mean device?"}},
      {"zzzzzz: 1\n", {"zzzzzz: unknown key", "allowed here:"}},
      // Durations.
      {"latency_budget: 20\n", {"1:17: latency_budget: found \"20\"", "without a unit", "20ms"}},
      {"latency_budget: fast\n", {"found \"fast\"", "a duration with a unit"}},
      {"latency_budget: -5ms\n", {"found \"-5ms\"", "not negative"}},
      {"latency_budget: inf\n", {"found \"inf\""}},
      {"latency_budget: 0ms\n", {"found \"0ms\"", "of at least 1us"}},
      {"latency_budget: [20ms]\n", {"found a list", "a duration with a unit"}},
      {"latency_budget: {a: 1}\n", {"found a mapping"}},
      {"latency_budget:\n", {"latency_budget: found nothing"}},
      // Integers.
      {"max_batch_size: 0\n", {"found \"0\"", "a whole number from 1 to 65536"}},
      {"max_batch_size: 1.5\n", {"found \"1.5\"", "a whole number"}},
      {"max_batch_size: many\n", {"found \"many\""}},
      {"max_batch_size: 99999999999999999999\n", {"found \"99999999999999999999\""}},
      {"queue: {priorities: 65}\n", {"1:21: queue.priorities", "from 1 to 64"}},
      {"instances: [{count: 0}]\n", {"instances[0].count: found \"0\"", "from 1 to 1024"}},
      {"instances: [{threads: -1}]\n", {"instances[0].threads: found \"-1\""}},
      // Bytes.
      {"queue: {max_bytes: 64M}\n", {"queue.max_bytes: found \"64M\"", "64MiB"}},
      {"queue: {max_bytes: 9999999TiB}\n", {"too large"}},
      {"queue: {max_bytes: 0}\n", {"of at least 1"}},
      // Booleans and choices.
      {"batching: {preserve_order: yes}\n", {"found \"yes\"", "true or false"}},
      {"precision: fp31\n", {"found \"fp31\"", "one of fp32, fp16", "did you mean fp32?"}},
      {"queue: {on_timeout: delay}\n", {"found \"delay\"", "reject"}},
      {"providers: [gpu]\n", {"1:13: providers[0]: found \"gpu\"", "cpu, cuda"}},
      {"providers: cuda\n", {"providers: found \"cuda\"", "a list"}},
      {"providers: []\n", {"providers: found an empty list"}},
      // Lists of mappings, devices.
      {"instances: 2\n", {"instances: found \"2\"", "a list of mappings"}},
      {"instances: [cpu]\n",
       {"1:13: instances[0]: found \"cpu\"", "a mapping with keys device, count, threads"}},
      {"instances: []\n", {"instances: found an empty list"}},
      {"instances: [{device: cdua}]\n",
       {"1:22: instances[0].device: found \"cdua\"", "did you mean cuda?"}},
      {"instances: [{device: 'cuda:x'}]\n", {"found \"cuda:x\""}},
      {"batching: 5ms\n",
       {"batching: found \"5ms\"",
        "a mapping with keys max_delay, preferred_sizes, preserve_order"}},
      {"batching: {preferred_sizes: [0]}\n", {"batching.preferred_sizes[0]: found \"0\""}},
      {"batching: {preferred_sizes: [[1]]}\n", {"preferred_sizes[0]: found a list"}},
      // Versions.
      {"versions: newest\n", {"versions: found \"newest\"", "latest, {latest: N}, all"}},
      {"versions: {latest: 0}\n", {"versions: found \"0\"", "at least 1"}},
      {"versions: {oldest: 1}\n", {"versions: found a mapping"}},
      {"versions: []\n", {"versions: found a list"}},
      {"versions: [1, x]\n", {"versions: found \"x\""}},
      // Keys that contradict each other.
      {"max_batch_size: 4\nbatching: {preferred_sizes: [2, 8]}\n",
       {"batching.preferred_sizes[1]: found 8, more than max_batch_size 4"}},
      {"latency_budget: 5ms\nbatching: {max_delay: 5ms}\n",
       {"2:23: batching.max_delay", "uses up latency_budget 5ms"}},
      {"batching: {max_delay: 50ms}\nqueue: {timeout: 10ms}\n", {"not below queue.timeout 10ms"}},
      // The file as a whole.
      {"max_batch_size: 1\nmax_batch_size: 2\n",
       {"2:1: max_batch_size: found twice, first in line 1"}},
      {"- a\n- b\n", {"m/config.yaml:1:1: found a list; allowed: a mapping"}},
      {"just words\n", {"found \"just words\"; allowed: a mapping"}},
      {"a: [1, 2\n", {"m/config.yaml:", "not YAML"}},
      {"\tmax_batch_size: 1\n", {"m/config.yaml:1:", "not YAML"}},
      {"max_batch_size: &x 1\n", {"anchors"}},
      {"a: *x\n", {"m/config.yaml:1"}},
      {"max_batch_size: 1\n---\nmax_batch_size: 2\n", {"second document"}},
      {"{[1]: 2}\n", {"as a key"}},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string error = ErrorOf(mistake.yaml);
    for (const std::string& says : mistake.says) {
      EXPECT_THAT(error, HasSubstr(says)) << mistake.yaml;
    }
  }
}

TEST(ModelConfigTest, AllMistakesAreListedAtOnce) {
  const std::string error = ErrorOf(
      "max_batch_size: none\n"
      "precission: fp16\n"
      "queue:\n"
      "  timeout: 100\n"
      "  prioritys: 2\n"
      "instances:\n"
      "  - {device: tpu, count: 0}\n");
  for (const char* says :
       {"config.yaml:1:17: max_batch_size", "config.yaml:2:1: precission",
        "config.yaml:4:12: queue.timeout", "config.yaml:5:3: queue.prioritys",
        "config.yaml:7:14: instances[0].device", "config.yaml:7:26: instances[0].count"}) {
    EXPECT_THAT(error, HasSubstr(says));
  }
}

TEST(ModelConfigTest, LongValuesAreCutInMessages) {
  const std::string error = ErrorOf("max_batch_size: " + std::string(5000, 'x') + "\n");
  EXPECT_LT(error.size(), 300u);
}

TEST(ModelConfigTest, FormatIsReadBackEqual) {
  const std::vector<std::string> configs = {
      "",
      "latency_budget: 1.5s\nmax_batch_size: 7\nversions: all\n",
      "instances: [{device: 'cuda:0', count: 2, threads: 3}, {device: cpu}]\nproviders: [cuda, "
      "cpu]\n",
      "batching: {max_delay: 250us, preferred_sizes: [1, 2], preserve_order: true}\n",
      "queue: {max_requests: 3, max_bytes: 1000, timeout: 1m30s, priorities: 4}\nversions: [2, "
      "9]\n",
      "versions: {latest: 3}\nprecision: bf16\n",
  };
  for (const std::string& yaml : configs) {
    const auto first = ParseModelConfig(yaml, "f");
    ASSERT_TRUE(first.ok()) << first.status();
    const std::string text = FormatModelConfig(*first);
    const auto second = ParseModelConfig(text, "f");
    ASSERT_TRUE(second.ok()) << text << second.status();
    EXPECT_EQ(FormatModelConfig(*second), text);
    EXPECT_EQ(first->instances, second->instances);
    EXPECT_EQ(first->latency_budget, second->latency_budget);
    EXPECT_EQ(first->max_delay, second->max_delay);
    EXPECT_EQ(first->queue_max_bytes, second->queue_max_bytes);
    EXPECT_EQ(first->queue_timeout, second->queue_timeout);
    EXPECT_EQ(first->preferred_sizes, second->preferred_sizes);
    EXPECT_EQ(first->providers, second->providers);
    EXPECT_EQ(first->versions, second->versions);
  }
}

TEST(ModelConfigTest, DescriptionCoversEveryKeyThatCanBeWritten) {
  const std::string text = DescribeModelConfig();
  for (const char* key :
       {"latency_budget: ", "max_batch_size: ", "instances: ", "    device: ", "    threads: ",
        "providers: ", "precision: ", "batching.max_delay: ", "queue.max_bytes: ", "versions: "}) {
    EXPECT_THAT(text, HasSubstr(key));
  }
  EXPECT_THAT(text, Not(HasSubstr("Default: .")));
}

}  // namespace
}  // namespace inferd::repository
