// GET /metrics on a port of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace inferd::server {

// One thread serves all scrapes; a slow client delays nobody and is cut off after seconds.
// Thread-safe.
class MetricsEndpoint {
 public:
  // `text` is called in the endpoint's thread for each scrape. UNAVAILABLE names the address and
  // the reason when it cannot be bound. Port 0 takes any free one.
  static absl::StatusOr<std::unique_ptr<MetricsEndpoint>> Start(const std::string& address,
                                                                int port,
                                                                std::function<std::string()> text);
  // Stops serving.
  virtual ~MetricsEndpoint() = default;
  virtual int port() const = 0;
};

}  // namespace inferd::server
