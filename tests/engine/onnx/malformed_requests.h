// How the models of malformed_requests.cc are written.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/engine/onnx/malformed_cases.h"

namespace inferd::engine {

inline constexpr int64_t kHuge = int64_t{1} << 40;
inline constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

using Cases = std::vector<MalformedCase>;

MalformedCase Text(std::string name, const std::string& text, std::string named,
                   bool may_run = false);
// One node, called "culprit", that no engine can run as asked; an error names it.
MalformedCase One(std::string name, absl::string_view op, absl::string_view inputs,
                  const std::string& declared, const std::string& attributes = "",
                  absl::string_view outputs = "y");

// malformed_control_flow.cc
void AddControlFlow(Cases& cases);

}  // namespace inferd::engine
