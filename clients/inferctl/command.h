// inferctl's subcommands. Each takes the arguments after its name and returns an exit status.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "clients/inferctl/arguments.h"

namespace inferd::client {

// Flags every subcommand has.
inline constexpr FlagSpec kUrlFlag = {"--url", "HOST:PORT", "127.0.0.1:8001",
                                      "gRPC address of the daemon, or unix:PATH"};
inline constexpr FlagSpec kHelpFlag = {"--help", "", "", "show this"};

absl::Status InferCommand(absl::Span<char* const> arguments);
absl::Status StatusCommand(absl::Span<char* const> arguments);
absl::Status LoadCommand(absl::Span<char* const> arguments);
absl::Status UnloadCommand(absl::Span<char* const> arguments);
absl::Status BenchCommand(absl::Span<char* const> arguments);

}  // namespace inferd::client
