// The engine's front door: a loaded model and the contexts that run it.
//
//   ASSIGN_OR_RETURN(auto model, Model::Load("resnet50/1/model.onnx", {}));
//   ASSIGN_OR_RETURN(auto context, model->NewContext({.threads = 1}));
//   std::vector<Tensor> outputs;
//   RETURN_IF_ERROR(context->Run({image}, &outputs));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/ir/graph.h"
#include "engine/kernel/kernel.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

class OpRegistry;  // engine/ops/op_def.h

struct ModelOptions {
  // Priority list; empty: {CpuProvider()}. Must outlive the model.
  std::vector<const ExecutionProvider*> providers;
  // Run every node by its reference kernel, unoptimized: the debugger and the oracle.
  bool eager = false;
  // Names of passes to leave out, for bisection; see PassNames().
  std::vector<std::string> disabled_passes;
  // Ends the passes after this many steps (PassOptions::stop_after); negative: no limit.
  int stop_after_pass_steps = -1;
  // Outputs that are sequences of maps become tensors: see engine/passes/maps_to_tensors.h. The
  // notes say so.
  bool tensor_outputs_for_maps = false;
  // The operators of `graph`s passed to FromGraph; null: OpRegistry::Global(). Must outlive the
  // model.
  const OpRegistry* registry = nullptr;
  // Plans kept per context-thread-count and input shape; least recently used goes first.
  int max_cached_plans = 32;
};

// A graph input or output as clients see it.
struct TensorInfo {
  std::string name;
  ValueType type;
  // Inputs: has an initializer of the same name as default, so a client may leave it out.
  bool optional = false;
};

// The kernel in the report of a node that is planned in the course of a run.
inline constexpr absl::string_view kPlannedLater = "planned once its shapes are known";

// What a run of a node has to do at least, by engine/compile/node_work.h. Negative: not known.
struct NodeWork {
  double flops = -1;  // arithmetic operations, integer ones included
  double bytes = -1;  // read and written, each operand once
};

// How one node of a plan runs, for reports.
struct NodeReport {
  std::string node;      // display name
  std::string op;        // qualified name
  std::string provider;  // "cpu"
  std::string kernel;    // "onednn_conv", "reference"
  std::string layout;    // of output 0
  std::vector<std::string> fused_from;
  std::vector<std::string> declined;  // "onednn_pool: dilations not supported"
  // "If_3, then_branch": the body the node is in; bodies around that one before it, with " > ".
  std::string inside = {};
  NodeWork work = {};
};

// Time one node took, summed over the profiled runs.
struct NodeProfile {
  NodeReport report;
  int64_t runs = 0;                     // of the node; those of a body may be more than the model's
  int64_t nanoseconds = 0;              // with the nodes of its bodies
  int64_t self_nanoseconds = 0;         // without them
  int64_t median_self_nanoseconds = 0;  // per run of the model, over the last of those it was in
  int64_t least_self_nanoseconds = 0;   // in any run of the model it was in
  int64_t model_runs = 0;               // runs of the model it was in
  NodeWork work = {};                   // summed over `runs`
  int parent = -1;  // position of the node whose body it is in; it comes after that
};

// What happened when in a profiled run.
struct NodeEvent {
  int node = 0;          // position in Context::Profile()
  int64_t start = 0;     // nanoseconds since the run began
  int64_t duration = 0;  // nanoseconds
};
struct RunTrace {
  std::vector<NodeEvent> events;  // in the order of their ends
  int64_t dropped = 0;            // events beyond those kept
};

struct MemoryUse {
  int64_t weight_bytes = 0;  // constants, packed or not, shared by all contexts
  int64_t arena_bytes = 0;   // activations of all live contexts
  int64_t output_bytes = 0;  // output buffers held by pools or by callers
};

class Context;
struct ContextOptions {
  int threads = 1;       // intra-op threads
  bool profile = false;  // time every node
};

// Immutable after Load; every method is thread-safe.
class Model : public std::enable_shared_from_this<Model> {
 public:
  virtual ~Model() = default;

  // `path` is an ONNX file; external data is looked up beside it. A model that cannot run is
  // UNIMPLEMENTED with every gap listed; a file that is not a model is INVALID_ARGUMENT.
  static absl::StatusOr<std::shared_ptr<Model>> Load(const std::string& path,
                                                     const ModelOptions& options);
  // From bytes; external data is looked up in `base_dir` ("" refuses it).
  static absl::StatusOr<std::shared_ptr<Model>> LoadFromBytes(absl::string_view bytes,
                                                              const std::string& base_dir,
                                                              const ModelOptions& options);
  static absl::StatusOr<std::shared_ptr<Model>> FromGraph(std::unique_ptr<Graph> graph,
                                                          const ModelOptions& options);

  virtual const std::vector<TensorInfo>& inputs() const = 0;
  virtual const std::vector<TensorInfo>& outputs() const = 0;
  // Notes for the status page: initializers that double as inputs, newer opset than known, ...
  virtual const std::vector<std::string>& notes() const = 0;
  // The graph after all passes.
  virtual const Graph& graph() const = 0;

  virtual absl::StatusOr<std::unique_ptr<Context>> NewContext(const ContextOptions& options) = 0;
  // Which provider and kernel run each node for these input shapes (one per input, in order), and
  // why faster ones declined. Compiles the plan if it is not cached.
  virtual absl::StatusOr<std::vector<NodeReport>> Report(absl::Span<const Shape> input_shapes,
                                                         int threads) = 0;
  virtual MemoryUse memory() const = 0;
};

// Runs a model; one thread at a time. Contexts of one model run side by side and share weights
// and plans.
class Context {
 public:
  virtual ~Context() = default;

  // `inputs`: one view per model input in order, plain layout, aligned to the element size, valid
  // during the call; null data for an optional input left out. INVALID_ARGUMENT names the input
  // whose type or shape does not fit. On success `outputs` holds one tensor per model output;
  // their buffers come from a pool and go back when the last copy of the tensor dies, from any
  // thread. Pass the same vector again to avoid allocation: after one run of a shape, a run
  // of that shape allocates nothing unless outputs of earlier runs are still held.
  // After a failed run the context can be used again.
  virtual absl::Status Run(absl::Span<const TensorView> inputs, std::vector<Tensor>* outputs) = 0;

  // Eager models only: called with the name and value of every tensor as it is computed.
  virtual void SetObserver(std::function<void(absl::string_view name, const TensorView&)> fn) = 0;
  // Times per node since creation; empty unless ContextOptions::profile. Nodes of a body follow
  // the node that has it.
  virtual std::vector<NodeProfile> Profile() const = 0;
  // The last run, node by node; empty unless ContextOptions::profile.
  virtual RunTrace LastRun() const { return {}; }
  // As Model::Report, of the plans the last run went through: those made in its course, when
  // shapes that depend on data were known, and those of bodies included. Empty before a run.
  virtual std::vector<NodeReport> PlannedNodes() const { return {}; }
};

}  // namespace inferd::engine
