// What the providers of this build offer for an operator.
#pragma once

#include <string>
#include <vector>

#include "engine/kernel/kernel.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

struct ProviderKernels {
  std::string provider;              // "cpu"
  std::vector<std::string> kernels;  // best first, each once
};

// Providers that have a kernel for the operator, in order of preference.
std::vector<ProviderKernels> KernelsFor(const OpDef& op);
// "cpu: onednn_conv, reference"; "" for none.
std::string DescribeKernels(const std::vector<ProviderKernels>& providers);

}  // namespace inferd::engine
