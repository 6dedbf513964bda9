// Loading and unloading over the wire, the same for every protocol.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/core/server_context.h"
#include "server/wire/infer_message.h"

namespace inferd::server {

// Both block until it is done. UNIMPLEMENTED for parameters this server does not know how to
// honour, among them a configuration or files sent along.
absl::Status LoadModel(ServerContext& context, absl::string_view repository_name,
                       absl::string_view model, const Parameters& parameters);
absl::Status UnloadModel(ServerContext& context, absl::string_view repository_name,
                         absl::string_view model, const Parameters& parameters);

}  // namespace inferd::server
