// Inputs that hold a single number.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace inferd::engine {

// The one value of input `name`; INVALID_ARGUMENT where it has more or none.
inline absl::StatusOr<int64_t> OneValue(const std::vector<int64_t>& values,
                                        absl::string_view name) {
  if (values.size() == 1) return values[0];
  return absl::InvalidArgumentError(
      absl::StrCat("input ", name, " has ", values.size(), " values, expected one"));
}

}  // namespace inferd::engine
