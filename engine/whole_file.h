// Whole files as strings.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace inferd::engine {

// The status of the failed system call (NOT_FOUND, PERMISSION_DENIED, ...), naming the path. A
// directory is an error, a pipe is read to its end.
absl::StatusOr<std::string> ReadFile(const std::string& path);
// Replaces the file. Not atomic: a reader may see a part of it.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

}  // namespace inferd::engine
