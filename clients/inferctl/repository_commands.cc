#include <cstdio>

#include "clients/cpp/client.h"
#include "clients/inferctl/command.h"
#include "engine/status_macros.h"

namespace inferd::client {
namespace {

absl::Status ForEachModel(const char* usage, const char* done, absl::Span<char* const> arguments,
                          absl::Status (Client::*action)(const std::string&)) {
  static constexpr FlagSpec kFlags[] = {kUrlFlag, kHelpFlag};
  ASSIGN_OR_RETURN(const Arguments args, Arguments::Parse(kFlags, arguments));
  if (args.has("--help")) {
    std::fputs(Arguments::Help(usage, kFlags).c_str(), stdout);
    return absl::OkStatus();
  }
  if (args.positional().empty()) return absl::InvalidArgumentError("name at least one model");
  ASSIGN_OR_RETURN(const auto client, Client::Connect({.target = args.Get("--url")}));
  for (const std::string& model : args.positional()) {
    RETURN_IF_ERROR((*client.*action)(model));
    std::printf("%s %s\n", done, model.c_str());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadCommand(absl::Span<char* const> arguments) {
  return ForEachModel("inferctl load MODEL... [flags]", "loaded", arguments, &Client::LoadModel);
}

absl::Status UnloadCommand(absl::Span<char* const> arguments) {
  return ForEachModel("inferctl unload MODEL... [flags]", "unloaded", arguments,
                      &Client::UnloadModel);
}

}  // namespace inferd::client
