// inferd: the daemon.
#include <stdlib.h>

#include <cstdio>
#include <string>
#include <vector>

#include "model_repository/model_config.h"
#include "server/core/allocator_policy.h"
#include "server/operations/daemon.h"
#include "server/operations/options.h"

int main(int argc, char** argv) {
  using inferd::server::CommandLine;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const absl::StatusOr<CommandLine> line = inferd::server::ParseCommandLine(arguments);
  if (!line.ok()) {
    std::fprintf(stderr, "inferd: %s\n", std::string(line.status().message()).c_str());
    return 2;
  }
  switch (line->action) {
    case CommandLine::Action::kHelp:
      std::fputs(inferd::server::HelpText().c_str(), stdout);
      return 0;
    case CommandLine::Action::kVersion:
      std::puts("inferd " INFERD_VERSION);
      return 0;
    case CommandLine::Action::kDescribeConfig:
      std::fputs(inferd::repository::DescribeModelConfig().c_str(), stdout);
      return 0;
    case CommandLine::Action::kServe:
      break;
  }
  // gRPC writes lines of its own to standard error; ours say the same in our form. A value the
  // user has set stays. No other thread runs yet.
  setenv("GRPC_VERBOSITY", "NONE", /*replace=*/0);
  inferd::server::KeepFreedMessageBuffers();
  return inferd::server::RunDaemon(line->options, INFERD_VERSION);
}
