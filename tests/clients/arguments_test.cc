#include "clients/inferctl/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr FlagSpec kFlags[] = {{"--rate", "QPS", "10", "requests per second"},
                               {"--input", "FILE", "", "repeatable"},
                               {"--verbose", "", "", "say more"}};

absl::StatusOr<Arguments> Parse(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  return Arguments::Parse(kFlags, argv);
}

TEST(Arguments, ReadsBothForms) {
  const auto args = Parse({"model", "--rate=3", "--input", "a", "--input=b=c", "--verbose"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_EQ(args->Get("--rate"), "3");
  EXPECT_THAT(args->All("--input"), ElementsAre("a", "b=c"));
  EXPECT_TRUE(args->has("--verbose"));
  EXPECT_THAT(args->positional(), ElementsAre("model"));
}

TEST(Arguments, DefaultsHold) {
  const auto args = Parse({});
  ASSERT_TRUE(args.ok());
  EXPECT_EQ(args->Get("--rate"), "10");
  EXPECT_FALSE(args->has("--rate"));
  EXPECT_TRUE(args->All("--input").empty());
}

TEST(Arguments, ErrorsNameTheFlag) {
  EXPECT_THAT(std::string(Parse({"--rat", "3"}).status().message()),
              HasSubstr("did you mean --rate?"));
  EXPECT_THAT(std::string(Parse({"--rate"}).status().message()), HasSubstr("needs a value: QPS"));
  EXPECT_THAT(std::string(Parse({"--verbose=1"}).status().message()), HasSubstr("takes no value"));
  const auto args = Parse({"--rate", "many", "--input", "5 s"});
  EXPECT_THAT(std::string(args->GetInt("--rate", 1, 9).status().message()),
              HasSubstr("--rate: expected a whole number from 1 to 9, found 'many'"));
  EXPECT_FALSE(args->GetDouble("--rate", 0).ok());
  EXPECT_FALSE(args->GetDuration("--input").ok());
}

}  // namespace
}  // namespace inferd::client
