// UTF-8 validity (Unicode standard, table 3-7): what may stand in a protocol string.
#pragma once

#include "absl/strings/string_view.h"

namespace inferd::server {

bool IsValidUtf8(absl::string_view text);

}  // namespace inferd::server
