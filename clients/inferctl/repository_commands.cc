#include <cstdio>
#include <limits>

#include "clients/cpp/client.h"
#include "clients/inferctl/command.h"
#include "engine/status_macros.h"

namespace inferd::client {
namespace {

int ForEachModel(absl::string_view name, absl::string_view summary, const char* done,
                 absl::Span<const char* const> args,
                 absl::Status (Client::*action)(const std::string&)) {
  const CommandSpec spec{.program = "inferctl",
                         .name = name,
                         .positional = "MODEL...",
                         .max_positional = std::numeric_limits<int>::max(),
                         .summary = summary,
                         .flags = {kUrlFlag}};
  return RunCommand(spec, args, [&](const Arguments& arguments) -> absl::Status {
    ASSIGN_OR_RETURN(const auto client, Client::Connect({.target = arguments.Get("--url")}));
    for (const std::string& model : arguments.positional()) {
      RETURN_IF_ERROR((*client.*action)(model));
      std::printf("%s %s\n", done, model.c_str());
    }
    return absl::OkStatus();
  });
}

}  // namespace

int LoadCommand(absl::Span<const char* const> args) {
  return ForEachModel("load", "Loads models, or loads them again from the repository.", "loaded",
                      args, &Client::LoadModel);
}

int UnloadCommand(absl::Span<const char* const> args) {
  return ForEachModel("unload", "Unloads models.", "unloaded", args, &Client::UnloadModel);
}

}  // namespace inferd::client
