#include "engine/command_line/command.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/command_line/nearest_name.h"

namespace inferd::engine {
namespace {

std::string ListCommands(absl::string_view program, absl::Span<const Command> commands) {
  std::string text = absl::StrCat("usage: ", program, " COMMAND ...\n\ncommands:\n");
  for (const Command& command : commands) {
    absl::StrAppendFormat(&text, "  %-8s %s\n", command.name, command.summary);
  }
  absl::StrAppend(&text, "\n", program, " COMMAND --help lists the flags of a command\n");
  return text;
}

}  // namespace

int RunProgram(const char* program, absl::Span<const Command> commands, int argc,
               const char* const* argv) {
  const std::string listing = ListCommands(program, commands);
  if (argc < 2) {
    std::fputs(listing.c_str(), stderr);
    return 2;
  }
  const absl::string_view name = argv[1];
  if (name == "--help" || name == "help") {
    std::fputs(listing.c_str(), stdout);
    return 0;
  }
  std::vector<std::string> names = {"help"};
  for (const Command& command : commands) {
    if (name == command.name) {
      return command.run(absl::MakeConstSpan(argv + 2, static_cast<size_t>(argc - 2)));
    }
    names.emplace_back(command.name);
  }
  std::fprintf(stderr, "%s: unknown command \"%s\"%s\n\n%s", program, argv[1],
               DidYouMean(name, names).c_str(), listing.c_str());
  return 2;
}

ParsedCommand ParseCommand(const CommandSpec& spec, absl::Span<const char* const> args) {
  // Whoever asks for help gets it, whatever else is wrong.
  for (const absl::string_view arg : args) {
    if (arg == "--") break;
    if (arg == "--help") {
      std::fputs(spec.Usage().c_str(), stdout);
      return {std::nullopt, 0};
    }
  }
  absl::StatusOr<Arguments> arguments = Arguments::Parse(spec, args);
  if (!arguments.ok()) return {std::nullopt, FailUsage(spec, arguments.status().message())};
  return {*std::move(arguments), 0};
}

int Fail(const CommandSpec& spec, absl::string_view message) {
  const std::string line = absl::StrCat(spec.program, " ", spec.name, ": ", message, "\n");
  std::fputs(line.c_str(), stderr);
  return 1;
}

int FailUsage(const CommandSpec& spec, absl::string_view message) {
  Fail(spec, message);
  std::fprintf(stderr, "%s\n",
               absl::StrCat(spec.program, " ", spec.name, " --help lists the flags").c_str());
  return 2;
}

}  // namespace inferd::engine
