#include "engine/inferplan/provider_kernels.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/providers/cpu/cpu_provider.h"

namespace inferd::engine {

std::vector<ProviderKernels> KernelsFor(const OpDef& op) {
  std::vector<ProviderKernels> found;
  for (const ExecutionProvider* provider : {&CpuProvider()}) {
    ProviderKernels entry{std::string(provider->name()), {}};
    for (const KernelImplementation* candidate : provider->Candidates(op)) {
      const std::string name(candidate->name());
      // One implementation may be offered in several forms.
      if (std::find(entry.kernels.begin(), entry.kernels.end(), name) == entry.kernels.end()) {
        entry.kernels.push_back(name);
      }
    }
    if (!entry.kernels.empty()) found.push_back(std::move(entry));
  }
  return found;
}

std::string DescribeKernels(const std::vector<ProviderKernels>& providers) {
  return absl::StrJoin(providers, "; ", [](std::string* out, const ProviderKernels& entry) {
    absl::StrAppend(out, entry.provider, ": ", absl::StrJoin(entry.kernels, ", "));
  });
}

}  // namespace inferd::engine
