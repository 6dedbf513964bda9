// The HTTP/1.1 front end: REST inference and control, JSON and binary tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/core/server_context.h"

namespace inferd::server {

struct HttpServerOptions {
  std::string address = "0.0.0.0";  // IPv4 or IPv6 literal; "::" takes both
  int port = 8000;                  // 0: any free port, see HttpServer::port()
  int threads = 2;                  // each runs its own event loop

  // Limits. A request over one is answered with an error that names the option.
  int64_t max_header_bytes = 16 << 10;
  int64_t max_body_bytes = int64_t{1} << 30;  // also of the body after decompression
  int64_t max_connections = 10'000;

  // Time limits. A client that needs longer is disconnected, with a 408 where an answer still
  // makes sense. Running inference is limited only by the request's own timeout.
  absl::Duration idle_timeout = absl::Seconds(75);    // between requests of a connection
  absl::Duration header_timeout = absl::Seconds(10);  // first byte of a request -> header complete
  absl::Duration stall_timeout = absl::Seconds(30);   // without progress in a body, either way
};

// Thread-safe.
class HttpServer {
 public:
  // Listens and serves until Shutdown. `context` outlives the server. UNAVAILABLE names the
  // address that could not be bound and why.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                           ServerContext& context);
  virtual ~HttpServer() = default;  // as Shutdown with a deadline in the past

  virtual int port() const = 0;
  // Stops accepting, closes idle connections at once and waits until every request in progress is
  // answered or `deadline` (wall-clock) has come; what is left then is cut off. Idempotent.
  virtual void Shutdown(absl::Time deadline) = 0;
};

}  // namespace inferd::server
