// One HTTP/1.1 connection: reads a request, has it answered, writes the answer, and again.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/http/http_message.h"
#include "server/http/io_worker.h"
#include "server/http/rest_call.h"

namespace inferd::server {

// Lives on its worker's thread. Kept alive by the operations under way, by the request being
// answered and, while open, by the worker.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(IoWorker& worker, boost::asio::ip::tcp::socket socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Start();
  void Close();
  void CloseIfIdle();
  // Called when deadline() has passed.
  void OnTimeout();
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }

 private:
  enum class Phase : uint8_t { kIdle, kHeader, kBody, kAnswering, kWriting, kLingering, kClosed };
  using Error = boost::system::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

  void SetDeadline(absl::Duration from_now);
  void AwaitRequest();
  void WatchReadable();
  void OnReadable();
  void ReadHeader();
  void OnHeader(const Error& error);
  void TakeHeaders();
  // An answer to the header alone, where the request cannot be served; nullopt if it can.
  std::optional<HttpResponse> CheckHeader();
  void StartBody();
  void ReadFixedBody();
  void OnFixedBody(const Error& error, size_t bytes);
  void ReadChunks();
  void OnChunk(const Error& error);
  bool TooSlow() const;
  void Answer();
  void Write(HttpResponse response);
  void OnWritten(const Error& error);
  // Closes after the client had the chance to read the answer, though it still sends.
  void Linger();
  void DiscardInput();

  IoWorker& worker_;
  // Counted as long as the object lives; declared before the socket, so that it is given back after
  // the socket is gone.
  struct Counted {
    explicit Counted(ConnectionCount& c) : count(c) { count.Add(); }
    ~Counted() { count.Remove(); }
    ConnectionCount& count;
  } counted_;
  boost::asio::ip::tcp::socket socket_;
  std::string peer_;
  Phase phase_ = Phase::kIdle;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
  bool watching_ = false;   // an operation that waits for readability is under way
  bool timed_out_ = false;  // the read under way was cancelled by OnTimeout

  boost::beast::flat_buffer input_;  // received, not yet used
  std::optional<Parser> parser_;
  HttpRequest request_;
  bool head_ = false;
  bool keep_alive_ = false;
  bool http10_ = false;
  bool unread_body_ = false;  // answered before the body was read
  size_t body_read_ = 0;
  size_t aligned_offset_ = 0;
  std::chrono::steady_clock::time_point body_start_;
  std::shared_ptr<RestCall> call_;

  HttpResponse response_;
  std::string response_head_;
  std::vector<boost::asio::const_buffer> output_;
};

}  // namespace inferd::server
