// A blocking HTTP client that sends exactly the bytes a test gives it.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace inferd::server::testing {

struct RawResponse {
  int status = 0;                              // 0: the connection ended before an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

class RawHttpClient {
 public:
  explicit RawHttpClient(int port) {
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~RawHttpClient() { Close(); }
  RawHttpClient(const RawHttpClient&) = delete;

  bool connected() const { return connected_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void Send(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;  // The server has closed; the answer tells why.
      sent += n;
    }
  }
  void Get(const std::string& path, const std::string& headers = "") {
    Send(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: t\r\n", headers, "\r\n"));
  }
  void Post(const std::string& path, const std::string& body, const std::string& headers = "") {
    Send(absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: t\r\nContent-Length: ", body.size(),
                      "\r\n", headers, "\r\n", body));
  }
  // Reads one answer; `head`: one without a body.
  RawResponse Read(bool head = false) {
    RawResponse response;
    size_t end;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
      if (!Fill()) return response;
    }
    const std::string header = input_.substr(0, end + 2);
    input_.erase(0, end + 4);
    EXPECT_TRUE(absl::SimpleAtoi(header.substr(9, 3), &response.status)) << header;
    for (size_t at = header.find("\r\n") + 2; at < header.size();) {
      const size_t line_end = header.find("\r\n", at);
      const size_t colon = header.find(": ", at);
      response.headers[absl::AsciiStrToLower(header.substr(at, colon - at))] =
          header.substr(colon + 2, line_end - colon - 2);
      at = line_end + 2;
    }
    size_t length = 0;
    if (!head && response.headers.count("content-length") != 0) {
      EXPECT_TRUE(absl::SimpleAtoi(response.headers["content-length"], &length));
    }
    while (input_.size() < length) {
      if (!Fill()) break;
    }
    response.body = input_.substr(0, length);
    input_.erase(0, length);
    return response;
  }
  // Waits until the server has closed; what it still sent is dropped.
  void AwaitClosed() {
    while (Fill()) {
    }
  }

 private:
  bool Fill() {
    char buffer[65536];
    const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
    if (n <= 0) return false;
    input_.append(buffer, n);
    return true;
  }

  int fd_ = -1;
  bool connected_ = false;
  std::string input_;
};

}  // namespace inferd::server::testing
