// The daemon's life: from options to serving to a clean end.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/operations/logging.h"
#include "server/operations/options.h"

namespace inferd::server {

// Listeners, models and metrics of one process. Start, LoadModels and Drain are for one thread;
// Drain may be called while LoadModels runs in another.
class Daemon {
 public:
  // Opens the repositories and listens: live, not ready. Errors are one line and name the flag.
  // `log` outlives the daemon.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(const DaemonOptions& options, Log& log,
                                                       const std::string& version);
  virtual ~Daemon() = default;

  // Loads every model; ready afterwards if they could be loaded. Blocks.
  virtual void LoadModels() = 0;
  // Readiness turns false at once; after drain_delay new requests are refused, those in progress
  // finish within drain_timeout. Blocks. Idle connections do not delay it.
  virtual void Drain() = 0;

  // Ports really used; 0 for what is off.
  virtual int http_port() const = 0;
  virtual int grpc_port() const = 0;
  virtual int metrics_port() const = 0;
};

// Runs a daemon until SIGTERM or SIGINT, then drains it; a second signal ends the process at once.
// Returns the exit code: 0, or 1 when the daemon could not start. Call from the main thread before
// any other thread exists.
int RunDaemon(const DaemonOptions& options, const std::string& version);

}  // namespace inferd::server
