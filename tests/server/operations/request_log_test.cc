#include "server/operations/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "tests/server/operations/json_check.h"

namespace inferd::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RequestLogTest : public ::testing::Test {
 protected:
  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    std::istringstream in(out_.str());
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  RequestRecord Record(const absl::Status* status) {
    RequestRecord record;
    record.protocol = Protocol::kHttp;
    record.peer = "10.0.0.1:5";
    record.model = "m";
    record.version = "1";
    record.request_id = "id-7";
    record.status = status;
    record.total = absl::Microseconds(1500);
    record.timing.queue = absl::Microseconds(300);
    record.timing.batch_size = 4;
    return record;
  }
  std::ostringstream out_;
  Log log_{{.format = LogFormat::kJson,
            .level = LogLevel::kInfo,
            .sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(out_)}};
  const absl::Status ok_;
  const absl::Status bad_ = absl::InvalidArgumentError("wrong shape");
  const absl::Status broken_ = absl::InternalError("kernel failed");
  const absl::Time start_ = absl::FromUnixSeconds(100);
};

TEST_F(RequestLogTest, NothingPerRequestByDefault) {
  RequestLog requests(log_, false);
  requests.OnRequest(Record(&ok_), start_);
  requests.OnRequest(Record(&bad_), start_);
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(RequestLogTest, RefusalsAtDebugCarryTheRequestId) {
  log_.set_level(LogLevel::kDebug);
  RequestLog requests(log_, false);
  requests.OnRequest(Record(&bad_), start_);
  ASSERT_EQ(Lines().size(), 1u);
  EXPECT_EQ(JsonMember(Lines()[0], "request_id"), "id-7");
  EXPECT_EQ(JsonMember(Lines()[0], "code"), "INVALID_ARGUMENT");
  EXPECT_EQ(JsonMember(Lines()[0], "error"), "wrong shape");
}

TEST_F(RequestLogTest, OwnFailuresAreLoggedOnceASecond) {
  RequestLog requests(log_, false);
  for (int i = 0; i < 10; ++i) requests.OnRequest(Record(&broken_), start_);
  EXPECT_EQ(Lines().size(), 1u);
  requests.OnRequest(Record(&broken_), start_ + absl::Seconds(2));
  ASSERT_EQ(Lines().size(), 2u);
  EXPECT_EQ(JsonMember(Lines()[1], "level"), "error");
  EXPECT_EQ(JsonMember(Lines()[1], "request_id"), "id-7");
  EXPECT_EQ(JsonMember(Lines()[1], "not_logged_since"), "9");
}

TEST_F(RequestLogTest, AccessLog) {
  RequestLog requests(log_, true);
  requests.OnRequest(Record(&ok_), start_);
  requests.OnRequest(Record(&bad_), start_);
  const auto lines = Lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(JsonMember(lines[0], "request_id"), "id-7");
  EXPECT_EQ(JsonMember(lines[0], "peer"), "10.0.0.1:5");
  EXPECT_EQ(JsonMember(lines[0], "protocol"), "http");
  EXPECT_EQ(JsonMember(lines[0], "code"), "OK");
  EXPECT_EQ(JsonMember(lines[0], "batch"), "4");
  EXPECT_EQ(JsonMember(lines[0], "queue_us"), "300");
  EXPECT_EQ(JsonMember(lines[0], "total_us"), "1500");
  EXPECT_EQ(JsonMember(lines[1], "error"), "wrong shape");
}

}  // namespace
}  // namespace inferd::server
