// What all oneDNN kernels share: descriptors, the border where dnnl::error becomes a Status, and
// a runner that executes one primitive from many contexts. Included by onednn/*.cc only.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "engine/device/thread_pool.h"
#include "engine/kernel/kernel.h"
#include "engine/kernel/packed_weights.h"
#include "engine/ops/fused_activation.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine::cpu {

dnnl::engine& OneDnnEngine();

// Runs `fn`, which returns a Status or StatusOr and may throw dnnl::error.
template <typename Fn>
auto CatchDnnl(absl::string_view what, Fn&& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const dnnl::error& e) {
    return absl::InternalError(absl::StrCat("oneDNN ", what, ": ", e.message, " (status ",
                                            static_cast<int>(e.status), ")"));
  }
}

// A float32 tensor of `shape` in `layout`; blocked layouts need rank 3 to 5.
dnnl::memory::desc DescOf(const Shape& shape, Layout layout);
// Row-major, or by explicit strides in elements.
dnnl::memory::desc PlainDesc(absl::Span<const int64_t> dims);
dnnl::memory::desc StridedDesc(absl::Span<const int64_t> dims, absl::Span<const int64_t> strides);
// The primitive chooses.
dnnl::memory::desc AnyDesc(absl::Span<const int64_t> dims);
inline dnnl::memory::dims ToDims(absl::Span<const int64_t> dims) {
  return dnnl::memory::dims(dims.begin(), dims.end());
}

// Appends one or two eltwise post-ops per activation; order is kept.
void AppendActivations(const ActivationChain& chain, dnnl::post_ops* post_ops);

// How many of `threads` are worth using for `operations` (multiplications and additions): waking
// one costs about what a core computes in the same time, so small work stays in the caller.
int WorthwhileThreads(double operations, int threads);

// True when oneDNN has nothing better than its reference loops, which are slower than ours.
bool IsReferenceImplementation(const std::string& impl_info);

// `source`, described by `from`, in the form `to`: shared through `packed` where given.
absl::StatusOr<Tensor> PackConstant(const Tensor& source, const dnnl::memory::desc& from,
                                    const dnnl::memory::desc& to, PackedWeights* packed);

// Executes one primitive. Immutable from outside and callable from several contexts at once: each
// call borrows a set of memory objects from a free list that grows to the number of concurrent
// callers, so that binding addresses allocates nothing.
class PrimitiveRunner {
 public:
  // An argument whose address comes with every run, in this order.
  struct Operand {
    int argument;
    dnnl::memory::desc desc;
  };
  // An argument that stays: packed weights.
  struct Constant {
    int argument;
    dnnl::memory::desc desc;
    Tensor tensor;
  };

  // `threads`: what the primitive was created for; 1 keeps it off the context's other threads.
  PrimitiveRunner(dnnl::primitive primitive, std::vector<Operand> operands,
                  std::vector<Constant> constants, int threads);
  ~PrimitiveRunner();

  // One address per operand.
  absl::Status Run(ThreadPool& threads, absl::Span<void* const> addresses) const;

 private:
  struct Binding;
  std::unique_ptr<Binding> Borrow(absl::Span<void* const> addresses) const;

  dnnl::primitive primitive_;
  int threads_;
  std::vector<Operand> operands_;
  std::vector<Constant> constants_;
  std::vector<dnnl::memory> constant_memories_;
  mutable absl::Mutex mutex_;
  mutable std::vector<std::unique_ptr<Binding>> free_ ABSL_GUARDED_BY(mutex_);
};

// A kernel that is one primitive from input 0 to output 0, with a scratchpad from the workspace
// where it has one (the primitive was described with scratchpad_mode::user).
std::unique_ptr<Kernel> MakeUnaryPrimitiveKernel(dnnl::primitive primitive,
                                                 const dnnl::memory::desc& source,
                                                 const dnnl::memory::desc& destination,
                                                 const dnnl::memory::desc& scratchpad, int threads);

}  // namespace inferd::engine::cpu
