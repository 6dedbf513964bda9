#include "clients/inferctl/command.h"

#include "absl/strings/str_cat.h"
#include "engine/command_line/command.h"

namespace inferd::client {

int RunCommand(const CommandSpec& spec, absl::Span<const char* const> args,
               absl::FunctionRef<absl::Status(const Arguments&)> body) {
  const engine::ParsedCommand parsed = engine::ParseCommand(spec, args);
  if (!parsed.arguments.has_value()) return parsed.exit_status;
  const absl::Status status = body(*parsed.arguments);
  if (status.ok()) return 0;
  const std::string message =
      absl::StrCat(absl::StatusCodeToString(status.code()), ": ", status.message());
  return absl::IsInvalidArgument(status) ? engine::FailUsage(spec, message)
                                         : engine::Fail(spec, message);
}

}  // namespace inferd::client
