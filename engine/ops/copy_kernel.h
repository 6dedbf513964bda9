// A kernel that copies input 0 to output 0 unchanged, whatever the shapes: any element type, equal
// layouts and equal element counts.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "engine/kernel/kernel.h"

namespace inferd::engine {

inline void CopyElements(const TensorView& from, const TensorView& to) {
  if (from.data == to.data) return;
  if (from.type == ElementType::kString) {
    std::copy_n(from.as<std::string>(), from.num_elements(), to.as<std::string>());
  } else if (const int64_t bytes = from.num_bytes(); bytes > 0) {
    std::memcpy(to.data, from.data, bytes);
  }
}

inline std::unique_ptr<Kernel> MakeCopyKernel() {
  return MakeKernel([](KernelContext& context) {
    CopyElements(context.input(0), context.output(0));
    return absl::OkStatus();
  });
}

}  // namespace inferd::engine
