// Programs of several commands: "inferplan bench ...", "inferctl status ...".
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/command_line/arguments.h"

namespace inferd::engine {

struct Command {
  const char* name;
  const char* summary;
  // Takes the arguments after the command's name, prints results to stdout and errors to stderr
  // and returns the exit status: 0 success, 1 the answer is no or the work failed, 2 wrong usage.
  int (*run)(absl::Span<const char* const> args);
};

// The body of main(): runs the command that argv[1] names; lists the commands for "help" and, as
// wrong usage, where there is no such command.
int RunProgram(const char* program, absl::Span<const Command> commands, int argc,
               const char* const* argv);

// The arguments, or the exit status of a command that ends here (--help: 0, wrong usage: 2).
struct ParsedCommand {
  std::optional<Arguments> arguments;
  int exit_status = 0;
};
ParsedCommand ParseCommand(const CommandSpec& spec, absl::Span<const char* const> args);

// Print "PROGRAM COMMAND: message" to stderr. Fail returns 1; FailUsage, for wrong values of flags,
// says where the flags are listed and returns 2.
int Fail(const CommandSpec& spec, absl::string_view message);
int FailUsage(const CommandSpec& spec, absl::string_view message);

}  // namespace inferd::engine
