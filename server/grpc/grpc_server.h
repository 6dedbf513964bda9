// The gRPC front end: inference.GRPCInferenceService and grpc.health.v1.Health.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/core/server_context.h"

namespace inferd::server {

struct GrpcServerOptions {
  std::string address = "0.0.0.0";  // IPv4 or IPv6 literal, or a name; "[::]" takes both
  int port = 8001;                  // 0: any free port, see GrpcServer::port()
  int threads = 2;                  // each serves its own completion queue

  int64_t max_message_bytes = int64_t{1} << 30;  // of a request; at most INT32_MAX
  int64_t max_metadata_bytes = 16 << 10;         // all headers of a request together
  int64_t max_concurrent_streams = 1'000;        // requests in progress per connection
};

// Thread-safe.
class GrpcServer {
 public:
  // Listens and serves until Shutdown. `context` outlives the server. UNAVAILABLE names the
  // address that could not be bound.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           ServerContext& context);
  virtual ~GrpcServer() = default;  // as Shutdown with a deadline in the past

  virtual int port() const = 0;
  // Refuses new requests (UNAVAILABLE), waits until those in progress are answered or `deadline`
  // (wall-clock) has come, then cancels the rest. Idempotent.
  virtual void Shutdown(absl::Time deadline) = 0;
};

}  // namespace inferd::server
