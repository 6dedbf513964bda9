// The yardstick for HTTP: the body of a request sent back as it came, with Boost.Beast reading the
// header and large reads straight into the body's buffer. Only what the benchmark sends is
// understood: requests with a Content-Length, on connections that are kept open.
#include <malloc.h>

// Boost 1.74's asio uses std::exchange without including it: this one stays first.
// clang-format off
#include <utility>
// clang-format on

#include <boost/asio.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using Error = boost::system::error_code;

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket socket) : socket_(std::move(socket)) {
    socket_.set_option(tcp::no_delay(true));
    input_.reserve(8 << 10);
  }

  void ReadHeader() {
    parser_.emplace();
    parser_->body_limit(UINT64_MAX);
    http::async_read_header(socket_, input_, *parser_,
                            [self = shared_from_this()](Error error, size_t) {
                              if (!error) self->StartBody();
                            });
  }

 private:
  void StartBody() {
    body_.resize(parser_->content_length().value_or(0));
    read_ = std::min(body_.size(), input_.size());
    std::memcpy(body_.data(), input_.data().data(), read_);
    input_.consume(read_);
    ReadBody();
  }
  void ReadBody() {
    if (read_ == body_.size()) return Answer();
    socket_.async_read_some(asio::buffer(body_.data() + read_, body_.size() - read_),
                            [self = shared_from_this()](Error error, size_t bytes) {
                              if (error) return;
                              self->read_ += bytes;
                              self->ReadBody();
                            });
  }
  void Answer() {
    const auto json_length = parser_->get()["Inference-Header-Content-Length"];
    head_ = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body_.size()) + "\r\n";
    if (json_length.empty()) {
      head_ += "Content-Type: application/json\r\n\r\n";
    } else {
      head_ += "Content-Type: application/octet-stream\r\nInference-Header-Content-Length: ";
      head_.append(json_length.data(), json_length.size());
      head_ += "\r\n\r\n";
    }
    const std::vector<asio::const_buffer> output = {asio::buffer(head_), asio::buffer(body_)};
    asio::async_write(socket_, output, [self = shared_from_this()](Error error, size_t) {
      if (!error) self->ReadHeader();
    });
  }

  tcp::socket socket_;
  boost::beast::flat_buffer input_;
  std::optional<http::request_parser<http::buffer_body>> parser_;
  std::vector<char> body_;
  size_t read_ = 0;
  std::string head_;
};

void Accept(tcp::acceptor& acceptor, std::vector<std::unique_ptr<asio::io_context>>& loops,
            size_t next) {
  asio::io_context& loop = *loops[next % loops.size()];
  acceptor.async_accept(loop, [&, next](Error error, tcp::socket socket) {
    if (!error) {
      auto session = std::make_shared<Session>(std::move(socket));
      asio::post(*loops[next % loops.size()], [session] { session->ReadHeader(); });
    }
    Accept(acceptor, loops, next + 1);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int port = argc > 1 ? std::atoi(argv[1]) : 9000;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  // The same allocator policy as the daemon.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);

  std::vector<std::unique_ptr<asio::io_context>> loops;
  for (int i = 0; i < threads; ++i) loops.push_back(std::make_unique<asio::io_context>(1));
  tcp::acceptor acceptor(
      *loops[0], tcp::endpoint(asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)));
  Accept(acceptor, loops, 0);
  std::printf("http echo on 127.0.0.1:%d, %d threads\n", port, threads);
  std::fflush(stdout);
  std::vector<std::thread> workers;
  std::vector<asio::executor_work_guard<asio::io_context::executor_type>> work;
  for (auto& loop : loops) {
    work.push_back(asio::make_work_guard(*loop));
    workers.emplace_back([l = loop.get()] { l->run(); });
  }
  for (std::thread& worker : workers) worker.join();
}
