#include "engine/command_line/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace inferd::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

int CountArguments(absl::Span<const char* const> args) { return static_cast<int>(args.size()); }

int RunTool(std::vector<const char*> argv) {
  static constexpr Command kCommands[] = {{"bench", "measures", CountArguments},
                                          {"check", "looks", CountArguments}};
  argv.insert(argv.begin(), "tool");
  return RunProgram("tool", kCommands, static_cast<int>(argv.size()), argv.data());
}

TEST(RunProgramTest, CommandsGetWhatFollowsTheirName) {
  EXPECT_EQ(RunTool({"bench"}), 0);
  EXPECT_EQ(RunTool({"check", "a", "--b", "c"}), 3);
}

TEST(RunProgramTest, ListsCommands) {
  for (const char* help : {"help", "--help"}) {
    CaptureStdout();
    EXPECT_EQ(RunTool({help}), 0);
    EXPECT_THAT(GetCapturedStdout(), HasSubstr("bench    measures"));
  }
  CaptureStderr();
  EXPECT_EQ(RunTool({}), 2);
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("usage: tool COMMAND"));
  CaptureStderr();
  EXPECT_EQ(RunTool({"bnech"}), 2);
  EXPECT_THAT(GetCapturedStderr(),
              HasSubstr("tool: unknown command \"bnech\"; did you mean bench?"));
}

const CommandSpec& Spec() {
  static const CommandSpec spec{.program = "tool",
                                .name = "bench",
                                .positional = "MODEL",
                                .summary = "Measures.",
                                .flags = {{"--rate", "QPS", "10", "requests per second"}}};
  return spec;
}

ParsedCommand Parse(std::vector<const char*> args) { return ParseCommand(Spec(), args); }

TEST(ParseCommandTest, HelpWins) {
  CaptureStdout();
  const ParsedCommand parsed = Parse({"--nonsense", "--help"});
  EXPECT_THAT(GetCapturedStdout(), HasSubstr("usage: tool bench MODEL [flags]"));
  EXPECT_FALSE(parsed.arguments.has_value());
  EXPECT_EQ(parsed.exit_status, 0);
  EXPECT_TRUE(Parse({"--", "--help"}).arguments.has_value()) << "a model of that name";
}

TEST(ParseCommandTest, WrongUsageIsTwo) {
  CaptureStderr();
  const ParsedCommand parsed = Parse({"m", "--rat=1"});
  EXPECT_EQ(GetCapturedStderr(),
            "tool bench: unknown flag --rat; did you mean --rate?\n"
            "tool bench --help lists the flags\n");
  EXPECT_FALSE(parsed.arguments.has_value());
  EXPECT_EQ(parsed.exit_status, 2);
  CaptureStderr();
  EXPECT_EQ(Fail(Spec(), "no such model"), 1);
  EXPECT_EQ(GetCapturedStderr(), "tool bench: no such model\n");
}

}  // namespace
}  // namespace inferd::engine
