#include "server/operations/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace inferd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Action = CommandLine::Action;

absl::StatusOr<CommandLine> Parse(std::vector<std::string> arguments) {
  return ParseCommandLine(arguments);
}
std::string ErrorOf(std::vector<std::string> arguments) {
  const auto line = ParseCommandLine(arguments);
  return line.ok() ? "(accepted)" : std::string(line.status().message());
}

class OptionsFileTest : public ::testing::Test {
 protected:
  ~OptionsFileTest() override { std::filesystem::remove(path_); }
  void Write(const std::string& yaml) { std::ofstream(path_) << yaml; }
  const std::string path_ = ::testing::TempDir() + "options_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                            ".yaml";
};

TEST(OptionsTest, Defaults) {
  const auto line = Parse({"serve", "--models", "m"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->action, Action::kServe);
  EXPECT_THAT(line->options.models, ElementsAre("m"));
  EXPECT_EQ(line->options.http_port, 8000);
  EXPECT_EQ(line->options.grpc_port, 8001);
  EXPECT_EQ(line->options.metrics_port, 8002);
  EXPECT_EQ(line->options.id, "inferd");
}

TEST(OptionsTest, FlagsInBothForms) {
  const auto line =
      Parse({"serve", "--models", "a", "--models=b", "--http-port=0", "--grpc-port", "9001", "--id",
             "x y", "--max-message-bytes", "64MiB", "--drain-timeout", "1m30s", "--log-format",
             "json", "--access-log", "--metrics-address", "::1"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->options.models, ElementsAre("a", "b"));
  EXPECT_EQ(line->options.http_port, 0);
  EXPECT_EQ(line->options.grpc_port, 9001);
  EXPECT_EQ(line->options.id, "x y");
  EXPECT_EQ(line->options.max_message_bytes, 64 << 20);
  EXPECT_EQ(line->options.drain_timeout, absl::Seconds(90));
  EXPECT_EQ(line->options.log_format, "json");
  EXPECT_TRUE(line->options.access_log);
  EXPECT_EQ(line->options.metrics_address, "::1");
  EXPECT_FALSE(Parse({"serve", "--models", "a", "--access-log=false"})->options.access_log);
}

TEST(OptionsTest, OtherActions) {
  EXPECT_EQ(Parse({"--help"})->action, Action::kHelp);
  EXPECT_EQ(Parse({"serve", "--help"})->action, Action::kHelp);
  EXPECT_EQ(Parse({"--version"})->action, Action::kVersion);
  EXPECT_EQ(Parse({"--describe-config"})->action, Action::kDescribeConfig);
}

TEST(OptionsTest, FlagsAloneMeanServe) {
  EXPECT_EQ(Parse({"--models", "m"})->action, Action::kServe);
  EXPECT_EQ(Parse({"serve", "--models", "m"})->action, Action::kServe);
}

TEST(OptionsTest, MistakesSayWhatWasFoundAndWhatIsAllowed) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("no command given"));
  EXPECT_THAT(ErrorOf({"sevre"}), HasSubstr("did you mean serve?"));
  EXPECT_THAT(ErrorOf({"serve"}), HasSubstr("add --models DIR"));
  EXPECT_THAT(ErrorOf({"serve", "--model", "m"}),
              HasSubstr("unknown flag --model; did you mean --models?"));
  EXPECT_THAT(ErrorOf({"serve", "--models", "m", "--http_port", "1"}),
              HasSubstr("did you mean --http-port?"));
  EXPECT_THAT(ErrorOf({"serve", "--models", "m", "--http-port", "70000"}),
              HasSubstr("--http-port: found \"70000\"; allowed: a whole number from 0 to 65535"));
  EXPECT_THAT(ErrorOf({"serve", "--models", "m", "--drain-timeout", "30"}),
              HasSubstr("without a unit"));
  EXPECT_THAT(ErrorOf({"serve", "--models", "m", "--log-format", "jsn"}),
              HasSubstr("did you mean json?"));
  EXPECT_THAT(ErrorOf({"serve", "--models"}), HasSubstr("--models: found no value"));
  EXPECT_THAT(ErrorOf({"serve", "--models", "m", "--id", "--access-log"}),
              HasSubstr("--id: found no value"));
  EXPECT_THAT(ErrorOf({"serve", "--models", "m", "stray"}), HasSubstr("found \"stray\""));
  EXPECT_THAT(ErrorOf({"serve", "--models", "m", "--id", "a", "--id", "b"}),
              HasSubstr("--id: found twice"));
}

TEST(OptionsTest, AllMistakesAtOnce) {
  const std::string error =
      ErrorOf({"serve", "--modles", "m", "--http-port", "x", "--log-level=loud"});
  EXPECT_THAT(error, HasSubstr("--modles"));
  EXPECT_THAT(error, HasSubstr("--http-port: found \"x\""));
  EXPECT_THAT(error, HasSubstr("--log-level: found \"loud\""));
}

TEST(OptionsTest, HelpNamesEveryFlagWithItsDefault) {
  const std::string help = HelpText();
  for (const char* text :
       {"--models DIR", "--http-port N", "Default: 8000", "--grpc-port N", "Default: 8001",
        "--metrics-port N", "Default: 8002", "--config FILE", "--drain-timeout DURATION",
        "Default: 30s", "--max-message-bytes SIZE", "Default: 1GiB", "--log-format text|json"}) {
    EXPECT_THAT(help, HasSubstr(text));
  }
}

TEST_F(OptionsFileTest, SameKeysInYamlAndFlagsWin) {
  Write("models: [a, b]\nhttp_port: 9000\ngrpc_port: 9001\nid: from file\ndrain_timeout: 5s\n");
  auto line = Parse({"serve", "--http-port", "7000", "--config", path_});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->options.models, ElementsAre("a", "b"));
  EXPECT_EQ(line->options.http_port, 7000);
  EXPECT_EQ(line->options.grpc_port, 9001);
  EXPECT_EQ(line->options.id, "from file");
  line = Parse({"serve", "--config", path_, "--models", "c"});
  EXPECT_THAT(line->options.models, ElementsAre("c"));
}

TEST_F(OptionsFileTest, FileMistakesAreLocated) {
  Write("models: [a]\nhttp_prot: 1\ndrain_timeout: 5\n");
  const std::string error = ErrorOf({"serve", "--config", path_});
  EXPECT_THAT(error, HasSubstr(path_ + ":2:1: http_prot: unknown key"));
  EXPECT_THAT(error, HasSubstr("did you mean http_port?"));
  EXPECT_THAT(error, HasSubstr(path_ + ":3:16: drain_timeout"));
  EXPECT_THAT(ErrorOf({"serve", "--config", path_ + ".gone"}), HasSubstr("cannot read"));
}

TEST_F(OptionsFileTest, EmptyFileIsFine) {
  Write("");
  EXPECT_TRUE(Parse({"serve", "--config", path_, "--models", "c"}).ok());
}

}  // namespace
}  // namespace inferd::server
