// Which provider and which of its candidates run a node.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/kernel/kernel.h"
#include "engine/runtime/model.h"

namespace inferd::engine {

struct SelectedKernel {
  std::unique_ptr<Kernel> kernel;
  const ExecutionProvider* provider = nullptr;
  std::string name;  // of the implementation
  KernelLayouts layouts;
  std::vector<std::string> declined;  // candidates passed over, with their reasons
};

// Asks the providers in order, and each one's candidates in order; the first that accepts and can
// be created wins. `spec` carries the layouts the inputs have now and, for a Reorder, the layout
// its output must have. UNIMPLEMENTED naming node, operator, element types and every refusal when
// nobody takes the node; the error of a candidate that accepted and then failed for another
// reason when none after it works.
absl::StatusOr<SelectedKernel> SelectKernel(absl::Span<const ExecutionProvider* const> providers,
                                            NodeSpec& spec);

// "Conv(float[1,3,8,8], float[4,3,3,3]) -> float[1,4,6,6]".
std::string DescribeSpec(const NodeSpec& spec);

// How a node runs, for reports: by a kernel, or in another way ("folded", "alias").
NodeReport Report(const Node& node, const SelectedKernel& selected);
NodeReport ReportWithoutKernel(const Node& node, absl::string_view how);

}  // namespace inferd::engine
