// Tolerances that are declared for single test cases, each with its reason.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/tensor/tensor_comparison.h"

namespace inferd::engine {

struct DeclaredTolerance {
  std::string pattern;  // a case's name, or a glob with * and ?
  Tolerance tolerance;
  std::string reason;
  std::string source;  // "FILE:LINE"

  bool Matches(const std::string& name) const;
};

// One "PATTERN RTOL ATOL REASON..." a line; # starts a comment line. INVALID_ARGUMENT names the
// line that is not like that.
absl::StatusOr<std::vector<DeclaredTolerance>> ReadTolerances(const std::string& path);

// The first that matches; null where none does.
const DeclaredTolerance* FindTolerance(absl::Span<const DeclaredTolerance> declared,
                                       const std::string& name);

}  // namespace inferd::engine
