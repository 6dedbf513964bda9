// The name that was probably meant, for "did you mean".
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace inferd::engine {

// The known name closest to `word` by edit distance, or "" where none is close. Case and the
// choice between - and _ do not count.
std::string NearestName(absl::string_view word, absl::Span<const std::string> names);

// "; did you mean NAME?", or "" where no name is close.
std::string DidYouMean(absl::string_view word, absl::Span<const std::string> names);

}  // namespace inferd::engine
