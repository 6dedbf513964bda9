#include "engine/command_line/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inferd::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const CommandSpec& Spec() {
  static const CommandSpec spec{.program = "tool",
                                .name = "demo",
                                .positional = "MODEL",
                                .min_positional = 1,
                                .max_positional = 2,
                                .summary = "Shows.",
                                .flags = {{"--rate", "QPS", "10", "requests per second"},
                                          {"--input", "FILE", "", "repeatable"},
                                          {"--shape", "NAME=SHAPE", "", "repeatable"},
                                          {"--levels", "N,N", "", "loads"},
                                          {"--verbose", "", "", "say more"}}};
  return spec;
}

absl::StatusOr<Arguments> Parse(std::vector<const char*> args) {
  return Arguments::Parse(Spec(), args);
}

std::string ErrorOf(std::vector<const char*> args) {
  return std::string(Parse(std::move(args)).status().message());
}

template <typename T>
std::string ErrorOf(const absl::StatusOr<T>& result) {
  return std::string(result.status().message());
}

TEST(ArgumentsTest, ReadsBothForms) {
  const auto args = Parse({"model", "--rate=3", "--input", "a", "--input=b=c", "--verbose",
                           "--shape=x=1x2", "--shape", "a=b=3", "--levels", "1,8"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_EQ(args->Get("--rate"), "3");
  EXPECT_EQ(*args->GetInt("--rate", 1, 9), 3);
  EXPECT_THAT(args->All("--input"), ElementsAre("a", "b=c"));
  EXPECT_EQ(args->Get("--input"), "b=c") << "the last one";
  EXPECT_TRUE(args->has("--verbose"));
  EXPECT_THAT(args->positional(), ElementsAre("model"));
  EXPECT_THAT(*args->GetMap("--shape"), ElementsAre(Pair("a=b", "3"), Pair("x", "1x2")));
  EXPECT_THAT(*args->GetInts("--levels", 1), ElementsAre(1, 8));
  EXPECT_THAT(*args->GetDoubles("--levels", 0), ElementsAre(1, 8));
}

TEST(ArgumentsTest, DefaultsHold) {
  const auto args = Parse({"model"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_EQ(args->Get("--rate"), "10");
  EXPECT_EQ(*args->GetDouble("--rate", 0), 10);
  EXPECT_FALSE(args->has("--rate"));
  EXPECT_THAT(args->All("--input"), IsEmpty());
  EXPECT_THAT(*args->GetInts("--levels", 1), IsEmpty());
  EXPECT_THAT(*args->GetDoubles("--levels", 1), IsEmpty());
}

TEST(ArgumentsTest, TwoDashesEndFlags) {
  const auto args = Parse({"--verbose", "--", "--rate"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_THAT(args->positional(), ElementsAre("--rate"));
  EXPECT_FALSE(args->has("--rate"));
}

TEST(ArgumentsTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(ErrorOf({"m", "--rat", "3"}), HasSubstr("unknown flag --rat; did you mean --rate?"));
  EXPECT_EQ(ErrorOf({"m", "--frobnicate"}), "unknown flag --frobnicate");
  EXPECT_THAT(ErrorOf({"m", "--rate"}), HasSubstr("--rate needs a value: QPS"));
  EXPECT_THAT(ErrorOf({"m", "--verbose=1"}), HasSubstr("--verbose takes no value"));
  EXPECT_THAT(ErrorOf(std::vector<const char*>{}), HasSubstr("missing argument: MODEL"));
  EXPECT_THAT(ErrorOf({"a", "b", "c"}), HasSubstr("unexpected argument \"c\""));
}

TEST(ArgumentsTest, WrongValuesAreNamed) {
  const auto args = Parse(
      {"m", "--rate", "many", "--input", "5 s", "--levels", "0,x", "--shape", "1x2", "--verbose"});
  ASSERT_TRUE(args.ok()) << args.status();
  EXPECT_EQ(ErrorOf(args->GetInt("--rate", 1, 9)),
            "--rate: expected a whole number from 1 to 9, found \"many\"");
  EXPECT_EQ(ErrorOf(args->GetDouble("--rate", 0)),
            "--rate: expected a number of at least 0, found \"many\"");
  EXPECT_THAT(ErrorOf(args->GetDuration("--input")), HasSubstr("expected a duration"));
  EXPECT_EQ(ErrorOf(args->GetInts("--levels", 0)),
            "--levels: expected whole numbers of at least 0 with commas between, found \"0,x\"");
  EXPECT_FALSE(args->GetDoubles("--levels", 0).ok());
  EXPECT_EQ(ErrorOf(args->GetMap("--shape")), "--shape: expected NAME=VALUE, found \"1x2\"");
  const auto low = Parse({"m", "--rate=-1", "--levels=1,0", "--input=nan"});
  EXPECT_FALSE(low->GetInt("--rate", 0, 9).ok());
  EXPECT_FALSE(low->GetDouble("--rate", 0).ok());
  EXPECT_FALSE(low->GetDouble("--input", 0).ok());
  EXPECT_FALSE(low->GetInts("--levels", 1).ok());
  EXPECT_FALSE(Parse({"m", "--levels="})->GetInts("--levels", 1).ok());
}

TEST(ArgumentsTest, UsageShowsFlagsAndDefaults) {
  const std::string usage = Spec().Usage();
  EXPECT_THAT(usage, HasSubstr("usage: tool demo MODEL [flags]\nShows.\n"));
  EXPECT_THAT(usage, HasSubstr("--rate QPS "));
  EXPECT_THAT(usage, HasSubstr("requests per second (default 10)\n"));
  EXPECT_THAT(usage, HasSubstr("--help"));
}

}  // namespace
}  // namespace inferd::engine
