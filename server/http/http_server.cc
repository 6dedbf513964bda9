#include "server/http/http_server.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/http/connection.h"
#include "server/http/io_worker.h"

namespace inferd::server {
namespace {

using boost::asio::ip::tcp;

class HttpServerImpl final : public HttpServer {
 public:
  HttpServerImpl(const HttpServerOptions& options, ServerContext& context)
      : options_(options), environment_{context, options_, control_worker_} {
    for (int i = 0; i < std::max(1, options_.threads); ++i) {
      workers_.push_back(std::make_unique<IoWorker>(environment_, count_));
    }
    acceptor_.emplace(workers_[0]->io());
    retry_timer_.emplace(workers_[0]->io());
  }

  ~HttpServerImpl() override { Shutdown(absl::InfinitePast()); }

  absl::Status Start() {
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(options_.address, error);
    if (error) {
      return absl::UnavailableError(absl::StrCat("HTTP cannot listen on '", options_.address,
                                                 "': it is neither an IPv4 nor an IPv6 address"));
    }
    const tcp::endpoint endpoint(address, static_cast<uint16_t>(options_.port));
    auto step = [&](auto&& action) {
      if (!error) action();
    };
    step([&] { acceptor_->open(endpoint.protocol(), error); });
    step([&] { acceptor_->set_option(tcp::acceptor::reuse_address(true), error); });
    if (address.is_v6() && address.is_unspecified()) {
      step([&] { acceptor_->set_option(boost::asio::ip::v6_only(false), error); });
    }
    step([&] { acceptor_->bind(endpoint, error); });
    step([&] { acceptor_->listen(tcp::acceptor::max_listen_connections, error); });
    if (error) {
      return absl::UnavailableError(absl::StrCat("HTTP cannot listen on ", options_.address,
                                                 " port ", options_.port, ": ", error.message()));
    }
    port_ = acceptor_->local_endpoint().port();
    Accept();
    for (auto& worker : workers_) worker->Start();
    started_ = true;
    return absl::OkStatus();
  }

  int port() const override { return port_; }

  void Shutdown(absl::Time deadline) override {
    absl::MutexLock lock(&shutdown_mutex_);
    if (stopped_ || !started_) return;
    stopped_ = true;
    boost::asio::post(workers_[0]->io(), [this] {
      boost::system::error_code ignored;
      accepting_ = false;
      retry_timer_->cancel(ignored);
      acceptor_->close(ignored);
    });
    for (auto& worker : workers_) {
      boost::asio::post(worker->io(), [w = worker.get()] { w->BeginShutdown(); });
    }
    if (!count_.AwaitZero(deadline)) {
      for (auto& worker : workers_) {
        boost::asio::post(worker->io(), [w = worker.get()] { w->CloseAll(); });
      }
      // Cut off, they only wait to hear from the scheduler.
      count_.AwaitZero(absl::InfiniteFuture());
    }
    for (auto& worker : workers_) worker->Stop();
  }

 private:
  // Each connection lives on one of the workers, in turn.
  void Accept() {
    IoWorker& worker = *workers_[next_worker_++ % workers_.size()];
    acceptor_->async_accept(
        worker.io(), [this, &worker](const boost::system::error_code& error, tcp::socket socket) {
          if (!accepting_) return;
          if (error) {
            // Out of descriptors, most likely: leave the clients in the backlog for a moment.
            retry_timer_->expires_after(std::chrono::milliseconds(50));
            retry_timer_->async_wait([this](const boost::system::error_code& cancelled) {
              if (!cancelled && accepting_) Accept();
            });
            return;
          }
          if (count_.value() < options_.max_connections) {
            auto connection = std::make_shared<Connection>(worker, std::move(socket));
            boost::asio::post(worker.io(), [c = std::move(connection)] { c->Start(); });
          }
          Accept();
        });
  }

  const HttpServerOptions options_;
  ConnectionCount count_;
  ControlWorker control_worker_;
  const RestCall::Environment environment_;
  std::vector<std::unique_ptr<IoWorker>> workers_;
  // These two belong to the first worker's thread.
  std::optional<tcp::acceptor> acceptor_;
  std::optional<boost::asio::steady_timer> retry_timer_;
  bool accepting_ = true;
  size_t next_worker_ = 0;
  int port_ = 0;
  absl::Mutex shutdown_mutex_;
  bool started_ = false;
  bool stopped_ ABSL_GUARDED_BY(shutdown_mutex_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                              ServerContext& context) {
  auto server = std::make_unique<HttpServerImpl>(options, context);
  if (absl::Status status = server->Start(); !status.ok()) return status;
  return server;
}

}  // namespace inferd::server
