#include "server/core/server_context.h"

namespace inferd::server {

absl::string_view ProtocolName(Protocol protocol) {
  return protocol == Protocol::kGrpc ? "grpc" : "http";
}

bool ServerContext::TryAcquireSlot() {
  if (in_flight_.fetch_add(1, std::memory_order_relaxed) < options_.max_in_flight) return true;
  ReleaseSlot();
  return false;
}

std::vector<absl::string_view> ProtocolExtensions() {
  return {"model_repository",   "schedule_policy", "model_configuration",
          "binary_tensor_data", "parameters",      "statistics"};
}

}  // namespace inferd::server
