// Domains of operators that other tools leave in files and that mean nothing elsewhere.
#pragma once

#include "absl/strings/string_view.h"

namespace inferd::engine {

// Why no operator of a domain is here and what to do instead; "" for a domain with nothing special
// about it.
absl::string_view WhyNoneOf(absl::string_view domain);

}  // namespace inferd::engine
