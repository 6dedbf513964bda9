// What both front ends share: the models, the state of the process, limits and the hook that
// metrics and the access log hang on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model_repository/repository.h"
#include "scheduler/clock.h"
#include "scheduler/request.h"

namespace inferd::server {

enum class Protocol : uint8_t { kGrpc, kHttp };
absl::string_view ProtocolName(Protocol protocol);  // "grpc", "http"

// One finished inference request, for metrics and the access log. Views are valid during the call.
struct RequestRecord {
  Protocol protocol = Protocol::kGrpc;
  absl::string_view peer;        // "ipv4:10.0.0.1:5000" or "10.0.0.1:5000"
  absl::string_view model;       // as the client spelled it; may be unknown to the repository
  absl::string_view version;     // that served it; empty if none did
  absl::string_view request_id;  // of the client; empty if it gave none
  // Whether `model` and `version` name a model that exists. Label series by them only then, or
  // clients could create series without bound.
  bool model_known = false;
  const absl::Status* status = nullptr;
  scheduler::RequestTiming timing;
  absl::Duration total;       // first byte parsed -> answer handed to the transport
  int64_t request_bytes = 0;  // of the message body
  int64_t response_bytes = 0;
};

struct ServerContextOptions {
  repository::ModelRepository* repository = nullptr;  // outlives the context
  scheduler::Clock* clock = nullptr;                  // outlives the context
  std::string name = "inferd";                        // in the server metadata
  std::string version;
  // Called once per inference request from a transport or instance thread: must be quick, must not
  // block. May be empty.
  std::function<void(const RequestRecord&)> on_request;
  // Inference requests of both protocols in progress at a time; the rest is refused with
  // RESOURCE_EXHAUSTED.
  int64_t max_in_flight = 10'000;
  // How long an unload over the wire waits for requests in flight.
  absl::Duration unload_drain = absl::Seconds(30);
};

// Thread-safe. Outlives the servers made with it.
class ServerContext {
 public:
  explicit ServerContext(ServerContextOptions options) : options_(std::move(options)) {}
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  const ServerContextOptions& options() const { return options_; }
  repository::ModelRepository& repository() const { return *options_.repository; }
  scheduler::Clock& clock() const { return *options_.clock; }

  // The process answers at all.
  bool live() const { return true; }
  // Every model is ready and no shutdown has begun.
  bool ready() const { return !draining() && options_.repository->Ready(); }
  bool draining() const { return draining_.load(std::memory_order_acquire); }
  // First step of a shutdown: readiness turns false at once, requests are still served, and HTTP
  // answers ask clients to close their connections. Follow with Shutdown of each server.
  void BeginDrain() { draining_.store(true, std::memory_order_release); }

  int64_t in_flight() const { return in_flight_.load(std::memory_order_relaxed); }
  // Takes a place among the requests in progress, to be given back with ReleaseSlot; false when
  // all are taken.
  bool TryAcquireSlot();
  void ReleaseSlot() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  ServerContextOptions options_;
  std::atomic<bool> draining_{false};
  std::atomic<int64_t> in_flight_{0};
};

// Names of the protocol extensions the server speaks, as the server metadata lists them.
std::vector<absl::string_view> ProtocolExtensions();

}  // namespace inferd::server
