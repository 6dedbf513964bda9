// The daemon's log: one line per event, as text or as JSON, to standard error.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace spdlog {
class logger;
namespace sinks {
class sink;
}  // namespace sinks
}  // namespace spdlog

namespace inferd::server {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat : uint8_t { kText, kJson };
// "debug", "info", ...
absl::string_view LogLevelName(LogLevel level);

// A named value of a line. Views need only live during the call.
struct LogField {
  absl::string_view name;  // a word; not escaped
  absl::string_view value;
};

struct LogOptions {
  LogFormat format = LogFormat::kText;
  LogLevel level = LogLevel::kInfo;
  // Where lines go; null: standard error.
  std::shared_ptr<spdlog::sinks::sink> sink;
};

// Thread-safe. A line that is about a request carries its id as field `request_id`.
class Log {
 public:
  explicit Log(LogOptions options);
  ~Log();

  bool enabled(LogLevel level) const;
  void set_level(LogLevel level);

  // Values come from outside: they are escaped, so that no value can forge a line or break the
  // JSON. A message may have several lines; in text, further lines are indented and follow the
  // fields.
  void Write(LogLevel level, absl::string_view message,
             std::initializer_list<LogField> fields = {});

 private:
  const LogFormat format_;
  std::unique_ptr<spdlog::logger> logger_;
};

// One line without its end, as Log writes it.
std::string FormatLogLine(LogFormat format, absl::Time time, LogLevel level,
                          absl::string_view message, std::initializer_list<LogField> fields);

}  // namespace inferd::server
