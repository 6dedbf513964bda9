// Runs passes on graphs given as text and compares what the graphs compute.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/ir/graph.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inferd::engine {

// The graph of `text` before and after some passes.
struct Rewritten {
  std::unique_ptr<Graph> before;
  std::unique_ptr<Graph> after;
  int applied = 0;

  // Qualified operator names of the result, in order.
  std::vector<std::string> ops() const;
  // The first node of that operator in the result; null and a failure where there is none.
  const Node* node(absl::string_view qualified_name) const;
};

// Parses, infers shapes, runs the named pass once and verifies. Failures are test failures.
Rewritten RunOnePass(absl::string_view pass, absl::string_view text);
// All passes until nothing changes.
Rewritten RunEveryPass(absl::string_view text);

// Both graphs, run node by node with the reference kernels on the same random inputs (unknown
// dimensions as 2), give the same outputs: |a - b| <= tolerance * (1 + |a|).
::testing::AssertionResult SameOutputs(const Rewritten& rewritten, double tolerance = 0);

}  // namespace inferd::engine
