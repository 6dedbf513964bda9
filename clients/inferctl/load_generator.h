// Load on one model, closed loop (a fixed number of requests in flight) or open loop (arrivals that
// do not wait for answers), and what it measured.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "clients/cpp/client.h"

namespace inferd::client {

struct LoadOptions {
  int concurrency = 1;      // closed loop
  double rate = 0;          // requests/s; above 0: open loop with Poisson arrivals
  absl::Duration warmup;    // load that is not counted
  absl::Duration duration;  // counted
  // Open loop only: arrivals beyond this many unanswered requests are counted as dropped, so that
  // a dead server does not fill the client's memory.
  int64_t max_outstanding = 100000;
  uint64_t seed = 1;
};

struct LoadResult {
  int64_t ok = 0;  // successful requests of the window (open loop: that arrived in it)
  int64_t dropped = 0;
  std::map<std::string, int64_t> errors;  // by status code
  std::string first_error;                // its whole text
  double seconds = 0;                     // length of the counted window
  int64_t completed = 0;  // successful answers that came within it, whenever they were asked for
  // Of successful requests, in nanoseconds, sorted. Counted from the moment a request was meant to
  // be sent: an open-loop request that left late because the client or server stalled has waited
  // all the same (no coordinated omission).
  std::vector<int64_t> latencies;

  double Throughput() const { return seconds > 0 ? static_cast<double>(completed) / seconds : 0; }
  // The latency that a share `q` of requests does not exceed; zero without any.
  absl::Duration Quantile(double q) const;
  absl::Duration Mean() const;
};

// Runs the load to its end and waits for the last answer. Requests need a timeout.
LoadResult GenerateLoad(Client& client, std::shared_ptr<const Client::Prepared> request,
                        const LoadOptions& options);

}  // namespace inferd::client
