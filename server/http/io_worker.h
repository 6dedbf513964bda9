// One event loop on one thread, and the connections that live on it.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <unordered_set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/http/http_server.h"
#include "server/http/json/json_parser.h"
#include "server/http/rest_call.h"

namespace inferd::server {

class Connection;

// Counts the connections of a server, also those that are closed but still wait for an answer
// from the scheduler. Thread-safe.
class ConnectionCount {
 public:
  void Add() {
    absl::MutexLock lock(&mutex_);
    ++count_;
  }
  void Remove() {
    absl::MutexLock lock(&mutex_);
    --count_;
  }
  int64_t value() const {
    absl::MutexLock lock(&mutex_);
    return count_;
  }
  // False if some are left at `deadline` (wall-clock).
  bool AwaitZero(absl::Time deadline) {
    absl::MutexLock lock(&mutex_);
    auto zero = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return count_ == 0; };
    return mutex_.AwaitWithDeadline(absl::Condition(&zero), deadline);
  }

 private:
  mutable absl::Mutex mutex_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Everything below runs on the worker's thread, but Start, Stop, Post and the constructor.
class IoWorker {
 public:
  IoWorker(const RestCall::Environment& environment, ConnectionCount& count);

  void Start();
  // Ends the event loop; no connection may be left.
  void Stop();

  boost::asio::io_context& io() { return io_; }
  const RestCall::Environment& environment() const { return environment_; }
  const HttpServerOptions& options() const { return environment_.options; }
  JsonParser& json_parser() { return json_parser_; }
  ConnectionCount& count() { return count_; }

  // Connections register while they are open, so that their deadlines are watched.
  void Register(const std::shared_ptr<Connection>& connection);
  void Unregister(const std::shared_ptr<Connection>& connection);

  // Idle connections close now, the others after their answer.
  void BeginShutdown();
  bool shutting_down() const { return shutting_down_; }
  void CloseAll();

 private:
  void Tick();

  const RestCall::Environment environment_;
  ConnectionCount& count_;
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::duration interval_;
  bool ticking_ = false;
  bool shutting_down_ = false;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  JsonParser json_parser_;
  std::thread thread_;
};

}  // namespace inferd::server
