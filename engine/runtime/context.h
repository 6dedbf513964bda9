// The context behind engine/runtime/model.h.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/runtime/arena.h"
#include "engine/runtime/bound_plan.h"
#include "engine/runtime/buffer_pool.h"
#include "engine/runtime/model_impl.h"
#include "engine/runtime/profiler.h"

namespace inferd::engine {

class ContextImpl final : public Context, public BodyRunner {
 public:
  static absl::StatusOr<std::unique_ptr<Context>> Create(std::shared_ptr<ModelImpl> model,
                                                         const ContextOptions& options);

  absl::Status Run(absl::Span<const TensorView> inputs, std::vector<Tensor>* outputs) override;
  void SetObserver(TensorObserver fn) override;
  std::vector<NodeProfile> Profile() const override;
  RunTrace LastRun() const override;
  std::vector<NodeReport> PlannedNodes() const override;

  absl::Status RunBody(const Node& node, absl::string_view body,
                       absl::Span<const TensorView> inputs, std::vector<Tensor>* outputs) override;

 private:
  // A body's context, made when the body first runs. Runs in the stream of the one around it.
  struct BodyContext {
    std::unique_ptr<ContextImpl> context;
    const Node* node = nullptr;
    std::vector<TensorView> inputs;
  };

  ContextImpl(std::shared_ptr<ModelImpl> model, const ContextOptions& options,
              std::shared_ptr<Stream> stream, std::shared_ptr<BufferPool> pool, Profiler* profiler);

  absl::Status RunSegments(absl::Span<const TensorView> inputs);
  // Gives the buffers of earlier outputs back, so that this run can use them, save those its
  // inputs lie in.
  void ReleaseOutputs(absl::Span<const TensorView> inputs, std::vector<Tensor>& outputs);

  const std::shared_ptr<ModelImpl> model_;
  const ContextOptions options_;
  const std::shared_ptr<Stream> stream_;
  const std::shared_ptr<BufferPool> pool_;
  Arena arena_;
  std::optional<Profiler> own_profiler_;
  Profiler* const profiler_;  // that of the context around a body, or our own; null: no profile
  TensorObserver observer_;
  absl::flat_hash_map<const BodyModel*, BodyContext> bodies_;

  std::vector<int64_t> key_;
  std::vector<std::unique_ptr<BoundPlan>> segments_;  // by position in a run
  size_t segments_run_ = 0;                           // by the last run
  std::vector<Tensor> results_;                       // of the run that is on
  std::vector<Tensor> carried_;                       // by value id; empty until a plan needs it
  std::vector<Tensor> borrowed_;                      // earlier outputs this run reads
};

}  // namespace inferd::engine
