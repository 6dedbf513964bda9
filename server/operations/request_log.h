// Lines about requests: none at the default level, save for failures of the server itself.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "server/core/server_context.h"
#include "server/operations/logging.h"

namespace inferd::server {

// Thread-safe.
class RequestLog {
 public:
  // `access`: one line per request at level info. `log` outlives this.
  RequestLog(Log& log, bool access) : log_(log), access_(access) {}

  // `now` is any monotonic time.
  void OnRequest(const RequestRecord& record, absl::Time now);

 private:
  void Write(LogLevel level, const RequestRecord& record, const char* message);

  Log& log_;
  const bool access_;
  // A broken model fails every request; one line a second tells it all.
  std::atomic<int64_t> next_failure_ns_{0};
  std::atomic<int64_t> suppressed_{0};
};

}  // namespace inferd::server
