#include "server/operations/metrics_endpoint.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace inferd::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr std::chrono::seconds kPatience{10};
constexpr int kMostConnections = 64;

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, const std::function<std::string()>& text, int& open)
      : stream_(std::move(socket)), text_(text), open_(open) {
    ++open_;
  }
  ~Session() { --open_; }

  void Read() {
    parser_.emplace();  // one per message
    parser_->header_limit(8 << 10);
    stream_.expires_after(kPatience);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](beast::error_code error, size_t) {
                              if (!error) self->Answer();
                            });
  }

 private:
  void Answer() {
    const auto& request = parser_->get();
    response_ = {};
    response_.version(request.version());
    // A scrape has no body; what is sent all the same is not read.
    response_.keep_alive(request.keep_alive() && parser_->is_done());
    response_.set(http::field::content_type, "text/plain; charset=utf-8");
    const std::string target(request.target().substr(0, request.target().find('?')));
    if (target != "/metrics" && target != "/metrics/") {
      response_.result(http::status::not_found);
      response_.body() = "Not Found. Metrics are at /metrics.\n";
    } else if (request.method() != http::verb::get && request.method() != http::verb::head) {
      response_.result(http::status::method_not_allowed);
      response_.set(http::field::allow, "GET, HEAD");
      response_.body() = "Method Not Allowed\n";
    } else {
      response_.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
      response_.body() = text_();
    }
    response_.prepare_payload();
    if (request.method() == http::verb::head) response_.body().clear();
    stream_.expires_after(kPatience);
    http::async_write(stream_, response_,
                      [self = shared_from_this()](beast::error_code error, size_t) {
                        if (error) return;
                        if (self->response_.keep_alive()) {
                          self->Read();
                        } else {
                          beast::error_code ignored;
                          self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
                        }
                      });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{16 << 10};
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
  const std::function<std::string()>& text_;
  int& open_;
};

class Endpoint final : public MetricsEndpoint {
 public:
  explicit Endpoint(std::function<std::string()> text) : text_(std::move(text)) {}
  ~Endpoint() override {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Listen(const std::string& address, int port) {
    const std::string where = absl::StrCat("metrics endpoint ", address, ":", port);
    beast::error_code error;
    std::string host = address;
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
      host = host.substr(1, host.size() - 2);
    }
    const asio::ip::address ip = asio::ip::make_address(host, error);
    if (error) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": not an IPv4 or IPv6 address; give a numeric address"));
    }
    const tcp::endpoint endpoint(ip, static_cast<uint16_t>(port));
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return absl::UnavailableError(absl::StrCat(where, ": ", error.message()));
    port_ = acceptor_.local_endpoint(error).port();
    Accept();
    thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  int port() const override { return port_; }

 private:
  void Accept() {
    acceptor_.async_accept([this](beast::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      // More than a few clients at once are a mistake or worse: they are closed at once.
      if (!error && open_ < kMostConnections) {
        std::make_shared<Session>(std::move(socket), text_, open_)->Read();
      }
      if (error) {  // out of descriptors: try again when some may have been freed
        retry_.expires_after(std::chrono::milliseconds(100));
        retry_.async_wait([this](beast::error_code e) {
          if (!e) Accept();
        });
        return;
      }
      Accept();
    });
  }

  void Run() {
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::exception&) {
        // Not enough memory for one answer: its connection is closed with its handler.
      }
    }
  }

  // Sessions, which live in the handlers of io_, refer to these: declared first, destroyed last.
  const std::function<std::string()> text_;
  int open_ = 0;
  asio::io_context io_{1};
  tcp::acceptor acceptor_{io_};
  asio::steady_timer retry_{io_};
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Start(
    const std::string& address, int port, std::function<std::string()> text) {
  auto endpoint = std::make_unique<Endpoint>(std::move(text));
  if (absl::Status s = endpoint->Listen(address, port); !s.ok()) return s;
  return endpoint;
}

}  // namespace inferd::server
