#include "server/core/repository_control.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"

namespace inferd::server {
namespace {

absl::Status CheckTarget(absl::string_view repository_name, absl::string_view model) {
  if (!repository_name.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("repository_name '", repository_name,
                     "': repositories have no names here; leave it empty"));
  }
  if (model.empty()) return absl::InvalidArgumentError("the name of the model is empty");
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadModel(ServerContext& context, absl::string_view repository_name,
                       absl::string_view model, const Parameters& parameters) {
  RETURN_IF_ERROR(CheckTarget(repository_name, model));
  for (const auto& [name, value] : parameters) {
    if (name == "config" || absl::StartsWith(name, "file:")) {
      return absl::UnimplementedError(
          absl::StrCat("load parameter '", name,
                       "' is not supported by this server: change the model's files "
                       "in the repository and load it again"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("unknown load parameter '", name, "' for model '", model, "'"));
  }
  if (context.draining()) {
    return absl::UnavailableError("the server is stopping and loads no more models");
  }
  return context.repository().Load(std::string(model));
}

absl::Status UnloadModel(ServerContext& context, absl::string_view repository_name,
                         absl::string_view model, const Parameters& parameters) {
  RETURN_IF_ERROR(CheckTarget(repository_name, model));
  for (const auto& [name, value] : parameters) {
    // No model depends on another one yet, so either value of this asks for the same.
    if (name == "unload_dependents" && std::holds_alternative<bool>(value)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("unknown unload parameter '", name, "' for model '", model, "'"));
  }
  return context.repository().Unload(std::string(model),
                                     context.clock().Now() + context.options().unload_drain);
}

}  // namespace inferd::server
