// Whole files as strings.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace inferd::client {

// NOT_FOUND or PERMISSION_DENIED naming the path.
absl::StatusOr<std::string> ReadFile(const std::string& path);
absl::Status WriteFile(const std::string& path, const std::string& contents);

}  // namespace inferd::client
