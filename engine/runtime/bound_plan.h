// A plan in a context: its slots bound to addresses, and the loop that runs it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/compile/plan.h"
#include "engine/device/device.h"
#include "engine/runtime/buffer_pool.h"
#include "engine/runtime/profiler.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

class GraphIndex;

using TensorObserver = std::function<void(absl::string_view name, const TensorView& value)>;

// Runs the bodies of nodes that have them.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  // The body in attribute `body` of `node`; see KernelContext::RunBody.
  virtual absl::Status RunBody(const Node& node, absl::string_view body,
                               absl::Span<const TensorView> inputs,
                               std::vector<Tensor>* outputs) = 0;
};

// What a run of a segment reads and writes besides the plan.
struct RunEnvironment {
  absl::Span<const TensorView> inputs;  // graph inputs
  std::vector<Tensor>* outputs;         // graph outputs, by position
  std::vector<Tensor>* carried;         // values that cross segments, by value id
  BufferPool* pool;
  Stream* stream;
  Profiler* profiler;              // may be null
  const TensorObserver* observer;  // may be null
  const GraphIndex* index;         // names, for the observer
  BodyRunner* bodies;
};

// One thread at a time. Binding and running allocate nothing once the vectors here have grown.
class BoundPlan {
 public:
  // Cheap when plan and arena are those of the last call.
  absl::Status Bind(std::shared_ptr<const Plan> plan, void* arena);
  // Errors name the node. References to buffers are released in any case.
  absl::Status Run(const RunEnvironment& environment);

  const Plan* plan() const { return plan_.get(); }

 private:
  class StepContext;

  absl::Status Prepare(const RunEnvironment& environment);
  // For errors: `value "y": `, or nothing.
  std::string NameOfBuffer(int buffer, const GraphIndex& index) const;
  absl::Status RunSteps(const RunEnvironment& environment);
  absl::Status CheckAllocated(const Step& step) const;
  absl::Status Copy(const Step& step, Stream& stream);
  void Observe(const Step& step, const RunEnvironment& environment);
  void DeliverResults(const RunEnvironment& environment);

  std::shared_ptr<const Plan> plan_;
  std::byte* arena_ = nullptr;
  std::vector<TensorView> views_;   // per slot
  std::vector<BufferRef> buffers_;  // per ResultBuffer, during a run
  std::vector<Tensor> dynamic_;     // per slot, only where plans have dynamic outputs
  std::vector<std::unique_ptr<std::string[]>> strings_;
};

}  // namespace inferd::engine
