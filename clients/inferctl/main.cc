// inferctl: talks to an inferd daemon.

#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "clients/inferctl/command.h"

namespace inferd::client {
namespace {

struct Command {
  const char* name;
  const char* what;
  absl::Status (*run)(absl::Span<char* const>);
};

constexpr Command kCommands[] = {
    {"infer", "run a model on files, images or made-up values", InferCommand},
    {"status", "the server, its models and their statistics", StatusCommand},
    {"load", "load or reload a model", LoadCommand},
    {"unload", "unload a model", UnloadCommand},
    {"bench", "measure throughput and latency under load", BenchCommand},
};

void PrintUsage(std::FILE* out) {
  std::fprintf(out, "usage: inferctl COMMAND [flags]\n\n");
  for (const Command& c : kCommands) std::fprintf(out, "  %-8s %s\n", c.name, c.what);
  std::fprintf(out, "\n'inferctl COMMAND --help' lists the flags.\n");
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    PrintUsage(stderr);
    return 2;
  }
  if (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "help") == 0) {
    PrintUsage(stdout);
    return 0;
  }
  for (const Command& c : kCommands) {
    if (std::strcmp(argv[1], c.name) != 0) continue;
    const absl::Status status = c.run(absl::MakeSpan(argv + 2, argc - 2));
    if (status.ok()) return 0;
    std::fprintf(stderr, "inferctl %s: %s: %s\n", c.name,
                 absl::StatusCodeToString(status.code()).c_str(),
                 std::string(status.message()).c_str());
    return status.code() == absl::StatusCode::kInvalidArgument ? 2 : 1;
  }
  std::fprintf(stderr, "inferctl: unknown command '%s'\n\n", argv[1]);
  PrintUsage(stderr);
  return 2;
}

}  // namespace
}  // namespace inferd::client

int main(int argc, char** argv) { return inferd::client::Main(argc, argv); }
