// What every subcommand does first: --help, wrong usage, flags many of them share.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/inferplan/arguments.h"

namespace inferd::engine {

// The arguments, or the exit status of a command that ends here (--help: 0, wrong usage: 2).
struct ParsedCommand {
  std::optional<Arguments> arguments;
  int exit_status = 0;
};
ParsedCommand ParseCommand(const CommandSpec& spec, absl::Span<const char* const> args);

// Prints "inferplan NAME: message" to stderr and returns 1, or 2 with the usage text for wrong
// values of flags.
int Fail(const CommandSpec& spec, const absl::Status& status);
int FailUsage(const CommandSpec& spec, const absl::Status& status);

}  // namespace inferd::engine
