#include "server/operations/logging.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace inferd::server {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::string Timestamp(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

// Length of the valid UTF-8 sequence at the front of `text`, 0 where there is none
// (Unicode 15, table 3-7).
int SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  int length = 0;
  unsigned char low = 0x80, high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return 0;
  }
  if (text.size() < static_cast<size_t>(length)) return 0;
  if (byte(1) < low || byte(1) > high) return 0;
  for (int i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

// The inside of a JSON string (RFC 8259, section 7); bytes that are not UTF-8 become U+FFFD.
void AppendEscaped(std::string* out, absl::string_view text) {
  while (!text.empty()) {
    const char c = text[0];
    const int length = SequenceLength(text);
    if (length == 0) {
      out->append("\xef\xbf\xbd");
      text.remove_prefix(1);
      continue;
    }
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(out, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      out->append(text.data(), length);
    }
    text.remove_prefix(length);
  }
}

void AppendJsonField(std::string* out, absl::string_view name, absl::string_view value) {
  absl::StrAppend(out, ",\"", name, "\":\"");
  AppendEscaped(out, value);
  out->push_back('"');
}

bool IsBareWord(absl::string_view value) {
  if (value.empty()) return false;
  for (char c : value) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f ||
        c == '"' || c == '\\' || c == '=') {
      return false;
    }
  }
  return true;
}

// Escaped, save for quotes and backslashes, which need none outside of quotes.
void AppendTextPart(std::string* out, absl::string_view text) {
  std::string escaped;
  AppendEscaped(&escaped, text);
  for (size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] == '\\' && i + 1 < escaped.size() &&
        (escaped[i + 1] == '"' || escaped[i + 1] == '\\')) {
      ++i;
    }
    out->push_back(escaped[i]);
  }
}

std::string TextLine(absl::Time time, LogLevel level, absl::string_view message,
                     std::initializer_list<LogField> fields) {
  std::string line = absl::StrCat(Timestamp(time), " ", LogLevelName(level), " ");
  const size_t first_end = message.find('\n');
  AppendTextPart(&line, message.substr(0, first_end));
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.name, "=");
    if (IsBareWord(field.value)) {
      absl::StrAppend(&line, field.value);
    } else {
      line += '"';
      AppendEscaped(&line, field.value);
      line += '"';
    }
  }
  // Further lines of the message are indented, so that only our own breaks start a line.
  for (size_t end = first_end; end != absl::string_view::npos;) {
    message.remove_prefix(end + 1);
    end = message.find('\n');
    line += "\n    ";
    AppendTextPart(&line, message.substr(0, end));
  }
  return line;
}

std::string JsonLine(absl::Time time, LogLevel level, absl::string_view message,
                     std::initializer_list<LogField> fields) {
  std::string line =
      absl::StrCat("{\"time\":\"", Timestamp(time), "\",\"level\":\"", LogLevelName(level), "\"");
  AppendJsonField(&line, "message", message);
  for (const LogField& field : fields) AppendJsonField(&line, field.name, field.value);
  line += '}';
  return line;
}

}  // namespace

absl::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
    case LogLevel::kOff:
      return "off";
  }
  return "off";
}

std::string FormatLogLine(LogFormat format, absl::Time time, LogLevel level,
                          absl::string_view message, std::initializer_list<LogField> fields) {
  return format == LogFormat::kJson ? JsonLine(time, level, message, fields)
                                    : TextLine(time, level, message, fields);
}

Log::Log(LogOptions options) : format_(options.format) {
  if (options.sink == nullptr) options.sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  logger_ = std::make_unique<spdlog::logger>("inferd", std::move(options.sink));
  logger_->set_pattern("%v");
  logger_->set_level(ToSpdlog(options.level));
  logger_->flush_on(spdlog::level::debug);
  // A full disk or a closed pipe must not end the daemon.
  logger_->set_error_handler([](const std::string&) {});
}

Log::~Log() = default;

bool Log::enabled(LogLevel level) const { return logger_->should_log(ToSpdlog(level)); }
void Log::set_level(LogLevel level) { logger_->set_level(ToSpdlog(level)); }

void Log::Write(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields) {
  if (!enabled(level)) return;
  const std::string line = FormatLogLine(format_, absl::Now(), level, message, fields);
  logger_->log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace inferd::server
