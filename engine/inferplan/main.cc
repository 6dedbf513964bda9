// inferplan: the engine's workbench, no daemon.
#include <cstdio>
#include <cstring>
#include <vector>

#include "engine/inferplan/commands.h"

namespace {

struct Command {
  const char* name;
  const char* what;
  int (*run)(absl::Span<const char* const>);
};

constexpr Command kCommands[] = {
    {"check", "operators, providers and gaps of a model; exit 0 only if it can run",
     inferd::engine::RunCheck},
    {"run", "run a model once and print its outputs", inferd::engine::RunRun},
    {"test", "run ONNX backend-test folders", inferd::engine::RunTest},
    {"bench", "load time, latency and throughput", inferd::engine::RunBench},
};

void PrintUsage(std::FILE* to) {
  std::fprintf(to, "usage: inferplan COMMAND ...\n\ncommands:\n");
  for (const Command& command : kCommands) {
    std::fprintf(to, "  %-8s %s\n", command.name, command.what);
  }
  std::fprintf(to, "\ninferplan COMMAND --help shows the flags of a command\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    PrintUsage(stderr);
    return 2;
  }
  if (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "help") == 0) {
    PrintUsage(stdout);
    return 0;
  }
  for (const Command& command : kCommands) {
    if (std::strcmp(argv[1], command.name) != 0) continue;
    return command.run(absl::MakeConstSpan(argv + 2, static_cast<size_t>(argc - 2)));
  }
  std::fprintf(stderr, "inferplan: unknown command \"%s\"\n", argv[1]);
  PrintUsage(stderr);
  return 2;
}
