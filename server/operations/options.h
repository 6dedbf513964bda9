// What the daemon can be told, by command line and by a YAML file of the same keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace inferd::server {

struct DaemonOptions {
  std::vector<std::string> models;
  std::string id = "inferd";
  std::string readiness = "all";

  // All interfaces, as a container wants it; 127.0.0.1 keeps a port to this machine.
  int http_port = 8000;
  std::string http_address = "0.0.0.0";
  int http_threads = 2;
  int grpc_port = 8001;
  std::string grpc_address = "0.0.0.0";
  int grpc_threads = 2;
  int metrics_port = 8002;
  std::string metrics_address = "0.0.0.0";

  int64_t max_message_bytes = int64_t{1} << 30;
  int64_t max_header_bytes = 16 << 10;
  int64_t max_connections = 10'000;
  int64_t max_in_flight = 10'000;
  absl::Duration idle_timeout = absl::Seconds(75);
  absl::Duration header_timeout = absl::Seconds(10);
  absl::Duration stall_timeout = absl::Seconds(30);

  absl::Duration drain_delay = absl::ZeroDuration();
  absl::Duration drain_timeout = absl::Seconds(30);

  std::string log_format = "text";
  std::string log_level = "info";
  bool access_log = false;
};

struct CommandLine {
  enum class Action : uint8_t { kServe, kHelp, kVersion, kDescribeConfig };
  Action action = Action::kHelp;
  DaemonOptions options;
};

// `arguments` without the program's name. Reads the file of --config; flags win over it wherever
// they stand. INVALID_ARGUMENT lists every mistake, each with what was found and what is allowed;
// an unknown flag or key suggests the nearest known one.
absl::StatusOr<CommandLine> ParseCommandLine(absl::Span<const std::string> arguments);

// Usage and every flag with its default.
std::string HelpText();

}  // namespace inferd::server
