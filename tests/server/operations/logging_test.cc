#include "server/operations/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <random>
#include <sstream>

#include "tests/server/operations/json_check.h"

namespace inferd::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kTime = absl::FromUnixMillis(1'700'000'000'123);

std::string Json(const std::string& message, std::initializer_list<LogField> fields = {}) {
  return FormatLogLine(LogFormat::kJson, kTime, LogLevel::kInfo, message, fields);
}
std::string Text(const std::string& message, std::initializer_list<LogField> fields = {}) {
  return FormatLogLine(LogFormat::kText, kTime, LogLevel::kWarning, message, fields);
}

TEST(LoggingTest, Text) {
  EXPECT_EQ(Text("hello"), "2023-11-14T22:13:20.123Z warning hello");
  EXPECT_EQ(Text("it's \"quoted\" \\", {{"model", "m"}, {"error", "a b"}, {"empty", ""}}),
            "2023-11-14T22:13:20.123Z warning it's \"quoted\" \\ model=m error=\"a b\" empty=\"\"");
}

TEST(LoggingTest, ValuesCannotForgeLines) {
  const std::string line = Text("request", {{"request_id", "x\n2023 error forged\x1b[31m"}});
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  EXPECT_THAT(line, HasSubstr("request_id=\"x\\n2023 error forged\\u001b[31m\""));
  EXPECT_EQ(Text("first\nsecond\n", {{"model", "m"}}),
            "2023-11-14T22:13:20.123Z warning first model=m\n    second\n    ");
}

TEST(LoggingTest, Json) {
  const std::string line = Json("say \"hi\"\n", {{"request_id", "a\\b"}, {"model", "ünï"}});
  EXPECT_EQ(JsonMember(line, "time"), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(JsonMember(line, "level"), "info");
  EXPECT_EQ(JsonMember(line, "message"), "say \"hi\"\n");
  EXPECT_EQ(JsonMember(line, "request_id"), "a\\b");
  EXPECT_EQ(JsonMember(line, "model"), "ünï");
}

TEST(LoggingTest, AnyBytesMakeValidJsonOnOneLine) {
  std::mt19937 random(3);
  for (int i = 0; i < 5'000; ++i) {
    std::string bytes(random() % 24, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string line = Json(bytes, {{"value", bytes}});
    EXPECT_THAT(JsonMember(line, "value"), Not(HasSubstr("(no"))) << line;
    EXPECT_THAT(line, Not(HasSubstr("\n")));
  }
  EXPECT_EQ(JsonMember(Json(std::string("\xed\xa0\x80", 3)), "message"),
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate is no UTF-8
}

TEST(LoggingTest, LevelsFilterAndChange) {
  std::ostringstream out;
  Log log({.format = LogFormat::kText,
           .level = LogLevel::kWarning,
           .sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(out)});
  log.Write(LogLevel::kInfo, "quiet");
  log.Write(LogLevel::kError, "100% loud {}");
  log.set_level(LogLevel::kDebug);
  log.Write(LogLevel::kDebug, "now heard");
  log.set_level(LogLevel::kOff);
  log.Write(LogLevel::kError, "off");
  EXPECT_THAT(out.str(), Not(HasSubstr("quiet")));
  EXPECT_THAT(out.str(), HasSubstr("error 100% loud {}\n"));
  EXPECT_THAT(out.str(), HasSubstr("debug now heard\n"));
  EXPECT_THAT(out.str(), Not(HasSubstr("off")));
}

}  // namespace
}  // namespace inferd::server
