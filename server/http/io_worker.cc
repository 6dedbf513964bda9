#include "server/http/io_worker.h"

#include <algorithm>
#include <vector>

#include "server/http/connection.h"

namespace inferd::server {
namespace {

// Deadlines are checked at this distance: a fraction of the shortest time limit, so that limits are
// kept well enough, and no more often than makes sense.
std::chrono::steady_clock::duration TickInterval(const HttpServerOptions& options) {
  const absl::Duration shortest =
      std::min({options.idle_timeout, options.header_timeout, options.stall_timeout});
  return absl::ToChronoMilliseconds(
      std::clamp(shortest / 4, absl::Milliseconds(10), absl::Seconds(1)));
}

}  // namespace

IoWorker::IoWorker(const RestCall::Environment& environment, ConnectionCount& count)
    : environment_(environment),
      count_(count),
      work_(boost::asio::make_work_guard(io_)),
      timer_(io_),
      interval_(TickInterval(environment.options)) {}

void IoWorker::Start() {
  thread_ = std::thread([this] { io_.run(); });
}

void IoWorker::Stop() {
  work_.reset();
  boost::asio::post(io_, [this] { timer_.cancel(); });
  if (thread_.joinable()) thread_.join();
}

void IoWorker::Register(const std::shared_ptr<Connection>& connection) {
  connections_.insert(connection);
  if (!ticking_) Tick();
}

void IoWorker::Unregister(const std::shared_ptr<Connection>& connection) {
  connections_.erase(connection);
}

void IoWorker::Tick() {
  // An event loop without connections sleeps.
  ticking_ = !connections_.empty();
  if (!ticking_) return;
  timer_.expires_after(interval_);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const auto now = std::chrono::steady_clock::now();
    std::vector<std::shared_ptr<Connection>> late;
    for (const auto& connection : connections_) {
      if (connection->deadline() <= now) late.push_back(connection);
    }
    for (const auto& connection : late) connection->OnTimeout();
    Tick();
  });
}

void IoWorker::BeginShutdown() {
  shutting_down_ = true;
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->CloseIfIdle();
}

void IoWorker::CloseAll() {
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->Close();
}

}  // namespace inferd::server
