#include "engine/kernel/kernel.h"

#include "absl/strings/str_cat.h"

namespace inferd::engine {

// Where nodes are evaluated one by one (folding), none has bodies or composite results.
absl::Status KernelContext::SetOutput(int i, Tensor /*tensor*/) {
  return absl::UnimplementedError(
      absl::StrCat("output ", i, " cannot be handed over while a node is folded"));
}

absl::Status KernelContext::RunBody(absl::string_view body, absl::Span<const TensorView> /*inputs*/,
                                    std::vector<Tensor>* /*outputs*/) {
  return absl::UnimplementedError(
      absl::StrCat("body \"", body, "\" cannot run while a node is folded"));
}

}  // namespace inferd::engine
