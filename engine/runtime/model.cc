#include "engine/runtime/model.h"

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <new>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/compile/specialize.h"
#include "engine/ir/lift_captures.h"
#include "engine/onnx/import.h"
#include "engine/ops/op_def.h"
#include "engine/passes/maps_to_tensors.h"
#include "engine/passes/pass.h"
#include "engine/providers/cpu/cpu_provider.h"
#include "engine/runtime/context.h"
#include "engine/runtime/model_impl.h"
#include "engine/runtime/optional_inputs.h"
#include "engine/runtime/plan_key.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

const OpRegistry& RegistryOf(const ModelOptions& options) {
  return options.registry != nullptr ? *options.registry : OpRegistry::Global();
}

absl::StatusOr<std::shared_ptr<Model>> Finish(std::unique_ptr<Graph> graph,
                                              const ModelOptions& options,
                                              std::vector<std::string> notes) {
  auto model = std::make_shared<ModelImpl>(std::move(graph), options, std::move(notes));
  RETURN_IF_ERROR(model->Initialize());
  return std::shared_ptr<Model>(std::move(model));
}

// Imports the model that is being loaded, now and for each variant of it.
using Importer =
    std::function<absl::StatusOr<ImportedModel>(const OpRegistry&, const ImportOptions&)>;

absl::StatusOr<std::shared_ptr<Model>> LoadBy(Importer importer, const ModelOptions& options) {
  ASSIGN_OR_RETURN(ImportedModel imported, importer(RegistryOf(options), {}));
  ASSIGN_OR_RETURN(std::shared_ptr<Model> model,
                   Finish(std::move(imported.graph), options, std::move(imported.notes)));
  if (imported.optional_inputs.empty()) return model;
  return WithOptionalInputs(
      std::move(model), std::move(imported.optional_inputs),
      [importer = std::move(importer),
       options](const std::vector<std::string>& fed) -> absl::StatusOr<std::shared_ptr<Model>> {
        ASSIGN_OR_RETURN(ImportedModel variant,
                         importer(RegistryOf(options), {.survey = nullptr, .fed = fed}));
        return Finish(std::move(variant.graph), options, {});
      });
}

// What tells one state of a file from another.
struct FileState {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  int64_t modified_s = 0, modified_ns = 0;
  bool operator==(const FileState&) const = default;

  static FileState Of(const std::string& path) {
    struct stat st {};
    if (stat(path.c_str(), &st) != 0) return {};
    return {st.st_dev, st.st_ino, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
  }
};

std::vector<TensorInfo> InfoOfInputs(const Graph& graph) {
  std::vector<TensorInfo> infos;
  for (const Value* v : graph.inputs()) infos.push_back({v->name(), v->type(), false});
  return infos;
}

std::vector<TensorInfo> InfoOfOutputs(const Graph& graph) {
  std::vector<TensorInfo> infos;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    infos.push_back({graph.output_name(static_cast<int>(i)), graph.outputs()[i]->type(), false});
  }
  return infos;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Model>> Model::Load(const std::string& path,
                                                   const ModelOptions& options) {
  const FileState state = FileState::Of(path);
  return LoadBy(
      [path, state](const OpRegistry& registry,
                    const ImportOptions& import) -> absl::StatusOr<ImportedModel> {
        if (!import.fed.empty() && FileState::Of(path) != state) {
          return absl::FailedPreconditionError(absl::StrCat(
              path,
              " has changed since it was loaded; load it again to feed inputs that have a "
              "default"));
        }
        return ImportOnnxFile(path, registry, import);
      },
      options);
}

absl::StatusOr<std::shared_ptr<Model>> Model::LoadFromBytes(absl::string_view bytes,
                                                            const std::string& base_dir,
                                                            const ModelOptions& options) {
  // Kept only where a variant may need them: most models have no optional inputs.
  auto kept = std::make_shared<std::string>();
  return LoadBy(
      [kept, bytes, base_dir](const OpRegistry& registry,
                              const ImportOptions& import) -> absl::StatusOr<ImportedModel> {
        if (!import.fed.empty()) return ImportOnnxBytes(*kept, base_dir, registry, import);
        absl::StatusOr<ImportedModel> imported = ImportOnnxBytes(bytes, base_dir, registry, import);
        if (imported.ok() && !imported->optional_inputs.empty()) *kept = std::string(bytes);
        return imported;
      },
      options);
}

absl::StatusOr<std::shared_ptr<Model>> Model::FromGraph(std::unique_ptr<Graph> graph,
                                                        const ModelOptions& options) {
  RETURN_IF_ERROR(InferShapes(*graph));
  return Finish(std::move(graph), options, {});
}

ModelImpl::ModelImpl(std::unique_ptr<Graph> graph, ModelOptions options,
                     std::vector<std::string> notes)
    : graph_(std::move(graph)), options_(std::move(options)), notes_(std::move(notes)) {}

absl::Status ModelImpl::Initialize() {
  if (options_.max_cached_plans < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_cached_plans must be at least 1, found ", options_.max_cached_plans));
  }
  if (options_.eager) {
    options_.providers = {&ReferenceProvider()};
  } else if (options_.providers.empty()) {
    options_.providers = {&CpuProvider()};
  }
  const OpRegistry& registry = RegistryOf(options_);
  if (options_.tensor_outputs_for_maps) {
    for (std::string& note : MapOutputsToTensors(*graph_, registry)) {
      notes_.push_back(std::move(note));
    }
  }
  // What clients see is what the model declares: passes may change how much is known inside.
  inputs_ = InfoOfInputs(*graph_);
  outputs_ = InfoOfOutputs(*graph_);
  if (!options_.eager) {
    const PassOptions passes = {.disabled = options_.disabled_passes,
                                .stop_after = options_.stop_after_pass_steps};
    RETURN_IF_ERROR(RunPassSteps(*graph_, registry, passes).status());
  }

  std::vector<std::string> gaps;
  for (const auto& node : graph_->nodes()) {
    const bool offered =
        std::any_of(options_.providers.begin(), options_.providers.end(),
                    [&](const ExecutionProvider* p) { return !p->Candidates(node->op()).empty(); });
    if (!offered) {
      gaps.push_back(absl::StrCat(node->display_name(), ": no provider has a kernel for ",
                                  node->op().qualified_name()));
    }
  }
  if (!gaps.empty()) {
    return absl::UnimplementedError(absl::StrCat("the model has ", gaps.size(),
                                                 " node(s) without a kernel:\n  ",
                                                 absl::StrJoin(gaps, "\n  ")));
  }

  RETURN_IF_ERROR(MakeBodies());
  index_ = std::make_unique<GraphIndex>(*graph_);
  initial_ = SegmentState::Initial(*index_);
  absl::flat_hash_set<const void*> counted;
  for (const ValueState& v : initial_.values) {
    if (v.known.defined() && counted.insert(v.known.view().data).second) {
      constant_bytes_ += v.known.num_bytes();
    }
  }
  settings_.index = index_.get();
  settings_.providers = options_.providers;
  settings_.packed_weights = &packed_weights_;
  settings_.byte_counter = plan_bytes_;
  settings_.reorder = registry.Find(kInferdDomain, "Reorder");
  settings_.plain_memory = options_.eager;
  first_plans_ = std::make_unique<PlanCache>(options_.max_cached_plans);
  // A shape with data-dependent parts has several segments, each in several sizes.
  later_plans_ = std::make_unique<PlanCache>(4 * options_.max_cached_plans);
  return absl::OkStatus();
}

absl::Status ModelImpl::MakeBodies() {
  for (const auto& node : graph_->nodes()) {
    for (const auto& [name, attribute] : node->attributes()) {
      const auto* body = std::get_if<std::shared_ptr<Graph>>(&attribute);
      if (body == nullptr) continue;
      absl::StatusOr<BodyModel> made = MakeBody(*node, name, **body);
      if (!made.ok()) {
        return absl::Status(made.status().code(), absl::StrCat(node->display_name(), ", ", name,
                                                               ": ", made.status().message()));
      }
      bodies_[node.get()].push_back(*std::move(made));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<BodyModel> ModelImpl::MakeBody(const Node& node, std::string attribute,
                                              const Graph& body) const {
  BodyModel made;
  made.attribute = std::move(attribute);
  std::unique_ptr<Graph> graph = body.Clone();
  const int captures = static_cast<int>(node.attributes().GetInt(kCapturesAttribute, 0));
  const int formals = static_cast<int>(graph->inputs().size()) - captures;
  for (int i = formals + captures - 1; i >= 0; --i) {
    const Value* outer =
        i < formals ? nullptr : node.input(node.num_inputs() - captures + i - formals);
    if (outer != nullptr && outer->is_constant()) {
      graph->BindInput(i, outer->constant());
      continue;
    }
    made.taken_inputs.insert(made.taken_inputs.begin(), i);
    ValueType& type = graph->inputs()[i]->type();
    // What a formal input looks like is known at run time only, and may change between runs.
    if (i < formals && type.is_tensor()) type.shape = SymbolicShape();
    if (outer != nullptr) type = outer->type();
  }
  RETURN_IF_ERROR(InferShapes(*graph));
  ModelOptions options = options_;
  options.tensor_outputs_for_maps = false;  // What a body gives the nodes around it stays.
  made.model =
      std::make_shared<ModelImpl>(std::move(graph), std::move(options), std::vector<std::string>());
  made.model->counters_ = counters_;
  made.model->plan_bytes_ = plan_bytes_;
  RETURN_IF_ERROR(made.model->Initialize());
  return made;
}

const BodyModel& ModelImpl::body(const Node& node, absl::string_view attribute) const {
  const std::vector<BodyModel>& bodies = bodies_.at(&node);
  return *std::find_if(bodies.begin(), bodies.end(),
                       [&](const BodyModel& b) { return b.attribute == attribute; });
}

absl::StatusOr<std::unique_ptr<Context>> ModelImpl::NewContext(const ContextOptions& options) {
  return ContextImpl::Create(std::static_pointer_cast<ModelImpl>(shared_from_this()), options);
}

absl::Status ModelImpl::CheckInputs(absl::Span<const TensorView> inputs) const {
  if (inputs.size() != inputs_.size()) {
    std::vector<std::string> names;
    for (const TensorInfo& info : inputs_) names.push_back(info.name);
    return absl::InvalidArgumentError(absl::StrCat("expected ", inputs_.size(), " inputs (",
                                                   absl::StrJoin(names, ", "), "), found ",
                                                   inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorView& found = inputs[i];
    const TensorInfo& wanted = inputs_[i];
    const auto error = [&](const std::string& what) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", wanted.name, "\": ", what));
    };
    if (found.type == ElementType::kUndefined) return error("is missing");
    if (!wanted.type.is_tensor()) {
      if (found.type == ElementType::kComposite) continue;
      return error(absl::StrCat("expected a ", wanted.type.ToString(), ", found a tensor of ",
                                ElementTypeName(found.type)));
    }
    // Only a body leaves the type of an input open.
    if (wanted.type.element != ElementType::kUndefined && found.type != wanted.type.element) {
      return error(absl::StrCat("expected element type ", ElementTypeName(wanted.type.element),
                                ", found ", ElementTypeName(found.type)));
    }
    if (!found.layout.is_plain()) {
      return error(absl::StrCat("expected plain layout, found ", found.layout.ToString()));
    }
    bool fits = true;
    const SymbolicShape& shape = wanted.type.shape;
    if (shape.has_rank()) {
      fits = shape.rank() == found.shape.rank();
      for (int d = 0; fits && d < shape.rank(); ++d) {
        fits = !shape[d].known() || shape[d].value() == found.shape[d];
      }
    }
    if (!fits) {
      return error(
          absl::StrCat("expected shape ", shape.ToString(), ", found ", found.shape.ToString()));
    }
    int64_t elements = 1;
    for (int64_t d : found.shape) {
      // Kernels take partial products of empty shapes as well.
      if (d < 0 || (d > 0 && elements > (int64_t{1} << 46) / d)) {
        return error(absl::StrCat("shape ", found.shape.ToString(), " is not possible"));
      }
      elements *= std::max<int64_t>(1, d);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const Plan>> ModelImpl::Compile(SegmentState start,
                                                               int threads) const {
  // Compilation allocates in proportion to what a request asks for; running short there fails
  // the request and not the process.
  try {
    ASSIGN_OR_RETURN(Specialization segment, Specialize(*index_, std::move(start)));
    return BuildPlan(settings_, std::move(segment), threads);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory while compiling a plan");
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("compiling a plan failed: ", e.what()));
  }
}

absl::StatusOr<std::shared_ptr<const Plan>> ModelImpl::FirstPlan(
    absl::Span<const TensorView> inputs, int threads, std::vector<int64_t>& key) {
  key.clear();
  key.push_back(threads);
  for (const TensorView& input : inputs) {
    key.push_back(static_cast<int64_t>(input.type));
    AppendShape(input.shape, key);
  }
  for (int i : index_->shape_determining_inputs()) {
    if (inputs[i].num_elements() <= kMaxKeyedElements) AppendContents(inputs[i], key);
  }
  return first_plans_->Get(key, [&]() -> absl::StatusOr<std::shared_ptr<const Plan>> {
    SegmentState start = initial_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      ValueState& v = start.values[index_->inputs()[i]];
      v.available = true;
      v.type = inputs[i].type;
      v.shape = inputs[i].shape;
    }
    for (int i : index_->shape_determining_inputs()) {
      const bool has_contents = inputs[i].data != nullptr || inputs[i].num_elements() == 0;
      if (inputs[i].num_elements() > kMaxKeyedElements || !has_contents) continue;
      ASSIGN_OR_RETURN(start.values[index_->inputs()[i]].known, Tensor::CopyOf(inputs[i]));
    }
    return Compile(std::move(start), threads);
  });
}

absl::StatusOr<std::shared_ptr<const Plan>> ModelImpl::NextPlan(const Plan& plan,
                                                                absl::Span<const TensorView> inputs,
                                                                const std::vector<Tensor>& carried,
                                                                int threads,
                                                                std::vector<int64_t>& key) {
  const auto value = [&](int id) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (index_->inputs()[i] == id) return inputs[i];
    }
    return carried[id].view();
  };
  key.clear();
  key.push_back(static_cast<int64_t>(plan.id));
  for (int id : plan.dynamic_values) {
    key.push_back(static_cast<int64_t>(value(id).type));
    AppendShape(value(id).shape, key);
  }
  for (int id : plan.wanted_values) AppendContents(value(id), key);
  return later_plans_->Get(key, [&]() -> absl::StatusOr<std::shared_ptr<const Plan>> {
    SegmentState start = *plan.continuation;
    for (int id : plan.dynamic_values) {
      start.values[id].available = true;
      start.values[id].type = value(id).type;
      start.values[id].shape = value(id).shape;
    }
    for (int id : plan.wanted_values) {
      ASSIGN_OR_RETURN(start.values[id].known, Tensor::CopyOf(value(id)));
    }
    return Compile(std::move(start), threads);
  });
}

absl::StatusOr<std::vector<NodeReport>> ModelImpl::Report(absl::Span<const Shape> input_shapes,
                                                          int threads) {
  if (threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("threads must be at least 1, found ", threads));
  }
  std::vector<TensorView> inputs(input_shapes.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i < inputs_.size()) {
      const ValueType& type = inputs_[i].type;
      inputs[i].type = type.is_tensor() ? type.element : ElementType::kComposite;
    }
    inputs[i].shape = input_shapes[i];
  }
  RETURN_IF_ERROR(CheckInputs(inputs));
  std::vector<int64_t> key;
  ASSIGN_OR_RETURN(std::shared_ptr<const Plan> plan, FirstPlan(inputs, threads, key));
  return plan->reports;
}

int64_t ModelImpl::ConstantBytes() const {
  int64_t bytes = constant_bytes_ + static_cast<int64_t>(packed_weights_.bytes());
  for (const auto& [node, bodies] : bodies_) {
    for (const BodyModel& body : bodies) bytes += body.model->ConstantBytes();
  }
  return bytes;
}

MemoryUse ModelImpl::memory() const {
  MemoryUse use;
  use.weight_bytes = ConstantBytes() + plan_bytes_->load(std::memory_order_relaxed);
  use.arena_bytes = counters_->arena_bytes.load(std::memory_order_relaxed);
  use.output_bytes = counters_->output_bytes.load(std::memory_order_relaxed);
  return use;
}

}  // namespace inferd::engine
