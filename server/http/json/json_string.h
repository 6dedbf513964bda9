// Strings of JSON text.
#pragma once

#include <string>

namespace inferd::server {

// Reads a string literal at `at` (on its opening quote) and returns the position after the closing
// one; null where it is malformed. Escapes are resolved, surrogate pairs joined into UTF-8; whether
// the unescaped rest is UTF-8 is not checked.
const char* ReadJsonString(const char* at, const char* end, std::string* value);

}  // namespace inferd::server
