// Paths of the REST API.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace inferd::server {

enum class Route : uint8_t {
  kUnknown,
  kServerMetadata,
  kServerLive,
  kServerReady,
  kModelMetadata,
  kModelReady,
  kModelInfer,
  kModelConfig,
  kModelStatistics,  // of one model, or of all when `model` is empty
  kRepositoryIndex,
  kRepositoryLoad,
  kRepositoryUnload,
  kUnsupported,  // part of the protocol, not of this server
};

struct RouteMatch {
  Route route = Route::kUnknown;
  std::string model;          // percent-decoded
  std::string version;        // empty: the server's choice
  bool post = false;          // the method it wants: POST, else GET or HEAD
  bool get_and_post = false;  // takes either
};

// `target` is a request target: a path, perhaps with a query, which is ignored.
RouteMatch MatchRoute(absl::string_view target);

}  // namespace inferd::server
