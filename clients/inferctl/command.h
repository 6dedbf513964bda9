// inferctl's commands.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/command_line/arguments.h"

namespace inferd::client {

using engine::Arguments;
using engine::CommandSpec;
using engine::FlagSpec;

// Every command has it.
inline constexpr FlagSpec kUrlFlag = {"--url", "HOST:PORT", "127.0.0.1:8001",
                                      "gRPC address of the daemon, or unix:PATH"};

// Runs `body` on the arguments and turns its status, INVALID_ARGUMENT being wrong usage, into a
// line on stderr and an exit status. --help and arguments that do not fit `spec` end here.
int RunCommand(const CommandSpec& spec, absl::Span<const char* const> args,
               absl::FunctionRef<absl::Status(const Arguments&)> body);

// As engine/command_line/command.h says of a Command.
int InferCommand(absl::Span<const char* const> args);
int StatusCommand(absl::Span<const char* const> args);
int LoadCommand(absl::Span<const char* const> args);
int UnloadCommand(absl::Span<const char* const> args);
int BenchCommand(absl::Span<const char* const> args);

}  // namespace inferd::client
