#include "server/operations/metrics_endpoint.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace inferd::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Client {
 public:
  explicit Client(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Client() { close(fd_); }
  bool connected() const { return connected_; }
  void Send(const std::string& text) {
    EXPECT_EQ(send(fd_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  std::string ReadAll() {
    std::string result;
    char buffer[4096];
    for (ssize_t n; (n = recv(fd_, buffer, sizeof(buffer), 0)) > 0;) result.append(buffer, n);
    return result;
  }

 private:
  int fd_;
  bool connected_ = false;
};

class MetricsEndpointTest : public ::testing::Test {
 protected:
  MetricsEndpointTest() {
    auto started = MetricsEndpoint::Start("127.0.0.1", 0, [] { return std::string("m 1\n"); });
    EXPECT_TRUE(started.ok()) << started.status();
    endpoint_ = *std::move(started);
  }
  std::string Ask(const std::string& request) {
    Client client(endpoint_->port());
    EXPECT_TRUE(client.connected());
    client.Send(request);
    return client.ReadAll();
  }
  std::unique_ptr<MetricsEndpoint> endpoint_;
};

TEST_F(MetricsEndpointTest, ServesMetricsAndNothingElse) {
  const std::string answer = Ask("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\nm 1\n"));
  EXPECT_THAT(Ask("GET /metrics?x=1 HTTP/1.0\r\n\r\n"), HasSubstr("200 OK"));
  EXPECT_THAT(Ask("HEAD /metrics HTTP/1.0\r\n\r\n"), Not(HasSubstr("m 1")));
  for (const char* path : {"/", "/metricsx", "/../metrics", "/v2"}) {
    EXPECT_THAT(Ask(absl::StrCat("GET ", path, " HTTP/1.0\r\n\r\n")), HasSubstr("404 Not Found"));
  }
  EXPECT_THAT(Ask("POST /metrics HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"),
              HasSubstr("405 Method Not Allowed"));
}

TEST_F(MetricsEndpointTest, GarbageDoesNotStopIt) {
  (void)Ask("\x16\x03\x01 not http at all\r\n\r\n");
  (void)Ask("GET /metrics HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  Client silent(endpoint_->port());
  EXPECT_THAT(Ask("GET /metrics HTTP/1.0\r\n\r\n"), HasSubstr("200 OK"));
}

TEST_F(MetricsEndpointTest, PortInUseIsNamed) {
  const auto second = MetricsEndpoint::Start("127.0.0.1", endpoint_->port(), [] { return ""; });
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(absl::StrCat("127.0.0.1:", endpoint_->port(), ": Address already in use")));
  EXPECT_EQ(MetricsEndpoint::Start("nowhere", 0, [] { return ""; }).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace inferd::server
