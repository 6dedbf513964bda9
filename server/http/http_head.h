// Status line and header fields of an answer.
#pragma once

#include <string>

#include "server/http/http_message.h"

namespace inferd::server {

std::string FormatResponseHead(const HttpResponse& response, bool keep_alive, bool http10);

}  // namespace inferd::server
