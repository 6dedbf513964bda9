// The model behind engine/runtime/model.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/compile/graph_index.h"
#include "engine/compile/plan_builder.h"
#include "engine/kernel/packed_weights.h"
#include "engine/runtime/memory_counters.h"
#include "engine/runtime/model.h"
#include "engine/runtime/plan_cache.h"

namespace inferd::engine {

class ModelImpl;

// A body of a node, as a model of its own.
struct BodyModel {
  std::string attribute;
  std::shared_ptr<ModelImpl> model;
  // Positions, among the inputs the node gives, of those the model takes. The others are captures
  // of constants, which became constants of the model.
  std::vector<int> taken_inputs;
};

// Thread-safe after Initialize.
class ModelImpl final : public Model {
 public:
  ModelImpl(std::unique_ptr<Graph> graph, ModelOptions options, std::vector<std::string> notes);
  // Runs the passes, checks that every operator has a provider and makes models of the bodies.
  absl::Status Initialize();

  const std::vector<TensorInfo>& inputs() const override { return inputs_; }
  const std::vector<TensorInfo>& outputs() const override { return outputs_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  const Graph& graph() const override { return *graph_; }
  absl::StatusOr<std::unique_ptr<Context>> NewContext(const ContextOptions& options) override;
  absl::StatusOr<std::vector<NodeReport>> Report(absl::Span<const Shape> input_shapes,
                                                 int threads) override;
  MemoryUse memory() const override;

  // INVALID_ARGUMENT naming the input whose type, rank or dimension contradicts the model.
  absl::Status CheckInputs(absl::Span<const TensorView> inputs) const;

  // The plan of the first segment for checked inputs. `key` is scratch space that the caller
  // keeps, so that a cached plan is found without allocating.
  absl::StatusOr<std::shared_ptr<const Plan>> FirstPlan(absl::Span<const TensorView> inputs,
                                                        int threads, std::vector<int64_t>& key);
  // The plan after `plan`, once that has run. `carried` holds values by id.
  absl::StatusOr<std::shared_ptr<const Plan>> NextPlan(const Plan& plan,
                                                       absl::Span<const TensorView> inputs,
                                                       const std::vector<Tensor>& carried,
                                                       int threads, std::vector<int64_t>& key);

  // `node` is one of graph() that has a body in that attribute.
  const BodyModel& body(const Node& node, absl::string_view attribute) const;

  const GraphIndex& index() const { return *index_; }
  const ModelOptions& options() const { return options_; }
  const std::shared_ptr<MemoryCounters>& counters() const { return counters_; }
  const PlanCache& first_plans() const { return *first_plans_; }
  const PlanCache& later_plans() const { return *later_plans_; }

 private:
  absl::StatusOr<std::shared_ptr<const Plan>> Compile(SegmentState start, int threads) const;
  int64_t ConstantBytes() const;  // of this model and of its bodies
  absl::Status MakeBodies();
  absl::StatusOr<BodyModel> MakeBody(const Node& node, std::string attribute,
                                     const Graph& body) const;

  std::unique_ptr<Graph> graph_;
  ModelOptions options_;
  std::vector<std::string> notes_;
  std::vector<TensorInfo> inputs_;
  std::vector<TensorInfo> outputs_;
  std::unique_ptr<GraphIndex> index_;
  absl::flat_hash_map<const Node*, std::vector<BodyModel>> bodies_;
  PackedWeights packed_weights_;
  PlanSettings settings_;
  SegmentState initial_;
  std::unique_ptr<PlanCache> first_plans_;
  std::unique_ptr<PlanCache> later_plans_;
  std::shared_ptr<MemoryCounters> counters_ = std::make_shared<MemoryCounters>();
  std::shared_ptr<std::atomic<int64_t>> plan_bytes_ = std::make_shared<std::atomic<int64_t>>(0);
  int64_t constant_bytes_ = 0;
};

}  // namespace inferd::engine
