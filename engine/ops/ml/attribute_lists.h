// Lists of numbers among the attributes of ai.onnx.ml, which describe a model in parallel.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace inferd::engine {

// INVALID_ARGUMENT naming the attribute unless it has as many values as expected.
inline absl::Status ExpectValues(absl::string_view attribute, int64_t found, int64_t expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("attribute ", attribute, " has ", found, " values, expected ", expected));
}

}  // namespace inferd::engine
