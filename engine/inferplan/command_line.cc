#include "engine/inferplan/command_line.h"

#include <cstdio>
#include <cstring>
#include <utility>

namespace inferd::engine {

ParsedCommand ParseCommand(const CommandSpec& spec, absl::Span<const char* const> args) {
  for (const char* arg : args) {
    if (std::strcmp(arg, "--") == 0) break;
    if (std::strcmp(arg, "--help") == 0) {
      std::fputs(spec.Usage().c_str(), stdout);
      return {std::nullopt, 0};
    }
  }
  absl::StatusOr<Arguments> arguments = Arguments::Parse(spec, args);
  if (!arguments.ok()) return {std::nullopt, FailUsage(spec, arguments.status())};
  return {*std::move(arguments), 0};
}

int Fail(const CommandSpec& spec, const absl::Status& status) {
  std::fprintf(stderr, "inferplan %s: %s\n", spec.name.c_str(),
               std::string(status.message()).c_str());
  return 1;
}

int FailUsage(const CommandSpec& spec, const absl::Status& status) {
  Fail(spec, status);
  std::fputs(spec.Usage().c_str(), stderr);
  return 2;
}

}  // namespace inferd::engine
