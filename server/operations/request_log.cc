#include "server/operations/request_log.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace inferd::server {
namespace {

std::string Microseconds(absl::Duration d) { return absl::StrCat(absl::ToInt64Microseconds(d)); }

bool IsOurFault(const absl::Status& status) {
  return absl::IsInternal(status) || absl::IsUnknown(status) || absl::IsDataLoss(status);
}

}  // namespace

void RequestLog::OnRequest(const RequestRecord& record, absl::Time now) {
  if (access_ && log_.enabled(LogLevel::kInfo)) {
    Write(LogLevel::kInfo, record, "request");
    return;
  }
  if (record.status == nullptr || record.status->ok()) return;
  if (IsOurFault(*record.status)) {
    const int64_t now_ns = absl::ToUnixNanos(now);
    int64_t next = next_failure_ns_.load(std::memory_order_relaxed);
    if (now_ns >= next && next_failure_ns_.compare_exchange_strong(next, now_ns + 1'000'000'000)) {
      Write(LogLevel::kError, record, "request failed");
      return;
    }
    suppressed_.fetch_add(1, std::memory_order_relaxed);
  }
  if (log_.enabled(LogLevel::kDebug)) Write(LogLevel::kDebug, record, "request refused");
}

void RequestLog::Write(LogLevel level, const RequestRecord& record, const char* message) {
  const bool ok = record.status == nullptr || record.status->ok();
  const std::string code = ok ? "OK" : absl::StatusCodeToString(record.status->code());
  const std::string error = ok ? "" : std::string(record.status->message());
  const std::string more = absl::StrCat(
      level == LogLevel::kError ? suppressed_.exchange(0, std::memory_order_relaxed) : 0);
  const std::string batch = absl::StrCat(record.timing.batch_size);
  const std::string queue = Microseconds(record.timing.queue);
  const std::string compute = Microseconds(
      record.timing.compute_input + record.timing.compute_infer + record.timing.compute_output);
  const std::string total = Microseconds(record.total);
  if (level == LogLevel::kInfo) {
    log_.Write(level, message,
               {{"request_id", record.request_id},
                {"peer", record.peer},
                {"protocol", ProtocolName(record.protocol)},
                {"model", record.model},
                {"version", record.version},
                {"code", code},
                {"batch", batch},
                {"queue_us", queue},
                {"compute_us", compute},
                {"total_us", total},
                {"error", error}});
    return;
  }
  log_.Write(level, message,
             {{"request_id", record.request_id},
              {"peer", record.peer},
              {"protocol", ProtocolName(record.protocol)},
              {"model", record.model},
              {"version", record.version},
              {"code", code},
              {"error", error},
              {"not_logged_since", more}});
}

}  // namespace inferd::server
