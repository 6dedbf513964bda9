#include "engine/command_line/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace inferd::engine {
namespace {

TEST(NearestNameTest, FindsTyposAndParts) {
  const std::vector<std::string> names = {"max_batch_size", "queue.timeout", "latency_budget",
                                          "id"};
  EXPECT_EQ(NearestName("max_batchsize", names), "max_batch_size");
  EXPECT_EQ(NearestName("max-batch-size", names), "max_batch_size");
  EXPECT_EQ(NearestName("MAX_BATCH_SIZE", names), "max_batch_size");
  EXPECT_EQ(NearestName("latnecy_budget", names), "latency_budget");
  EXPECT_EQ(NearestName("timeout", names), "queue.timeout");
  EXPECT_EQ(NearestName("dynamic_batching", names), "");
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName(std::string(10'000, 'x'), names), "");
}

TEST(DidYouMeanTest, SaysNothingWithoutANearName) {
  const std::vector<std::string> names = {"--threads", "--json"};
  EXPECT_EQ(DidYouMean("--thread", names), "; did you mean --threads?");
  EXPECT_EQ(DidYouMean("--jsno", names), "; did you mean --json?");
  EXPECT_EQ(DidYouMean("--verbose", names), "");
}

}  // namespace
}  // namespace inferd::engine
