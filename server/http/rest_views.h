// The control calls' answers as JSON.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/model_views.h"
#include "server/http/http_message.h"

namespace inferd::server {

// HTTP status of an error (OUT_OF_RANGE stands for a body over its limit), and the error body
// {"error": text} with what goes around it.
int HttpStatusOf(absl::StatusCode code);
HttpResponse ErrorResponse(const absl::Status& status);
HttpResponse ErrorResponse(int http_status, absl::string_view text);

HttpResponse JsonResponse(std::string text);
std::string ServerMetadataJson(const ServerContext& context);
std::string ToJson(const ModelMetadata& metadata);
std::string ToJson(const ModelConfigView& config);
std::string ToJson(const std::vector<ModelStatisticsView>& statistics);
std::string ToJson(const std::vector<repository::IndexEntry>& index);

}  // namespace inferd::server
