#include "engine/runtime/optional_inputs.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Sets of fed inputs a model keeps variants for: each holds weights of its own. A client feeds the
// same ones every time.
constexpr size_t kMaxVariants = 4;

// Which of the inputs, by position, are optional and fed.
using Fed = std::vector<bool>;

class ModelWithDefaults;

class ContextWithDefaults final : public Context {
 public:
  ContextWithDefaults(std::shared_ptr<ModelWithDefaults> model, const ContextOptions& options,
                      std::unique_ptr<Context> base)
      : model_(std::move(model)), options_(options), base_(std::move(base)) {}

  absl::Status Run(absl::Span<const TensorView> inputs, std::vector<Tensor>* outputs) override;

  void SetObserver(std::function<void(absl::string_view, const TensorView&)> fn) override {
    base_->SetObserver(fn);
    for (Entry& entry : variants_) entry.context->SetObserver(fn);
    observer_ = std::move(fn);
  }
  std::vector<NodeProfile> Profile() const override {
    std::vector<NodeProfile> all = base_->Profile();
    for (const Entry& entry : variants_) {
      const int first = static_cast<int>(all.size());
      for (NodeProfile& node : entry.context->Profile()) {
        if (node.parent >= 0) node.parent += first;
        all.push_back(std::move(node));
      }
    }
    return all;
  }
  RunTrace LastRun() const override {
    RunTrace trace = last_->LastRun();
    if (last_ == base_.get()) return trace;
    // The variant that ran last is the first of them.
    const int first = static_cast<int>(base_->Profile().size());
    for (NodeEvent& event : trace.events) event.node += first;
    return trace;
  }
  std::vector<NodeReport> PlannedNodes() const override { return last_->PlannedNodes(); }

 private:
  struct Entry {
    Fed fed;
    std::unique_ptr<Context> context;  // keeps its model
  };

  absl::StatusOr<Context*> VariantContext();

  const std::shared_ptr<ModelWithDefaults> model_;
  const ContextOptions options_;
  const std::unique_ptr<Context> base_;
  std::list<Entry> variants_;    // most recently used first
  Context* last_ = base_.get();  // the one that ran last
  std::function<void(absl::string_view, const TensorView&)> observer_;
  // Of the run that is on; kept so that a run allocates nothing.
  Fed fed_;
  std::vector<TensorView> views_;
};

class ModelWithDefaults final : public Model {
 public:
  ModelWithDefaults(std::shared_ptr<Model> base, std::vector<OptionalInput> optional,
                    MakeVariant make_variant)
      : base_(std::move(base)), make_variant_(std::move(make_variant)) {
    std::sort(optional.begin(), optional.end(), [](const OptionalInput& a, const OptionalInput& b) {
      return a.position < b.position;
    });
    auto required = base_->inputs().begin();
    for (OptionalInput& input : optional) {
      while (static_cast<int>(inputs_.size()) < input.position &&
             required != base_->inputs().end()) {
        inputs_.push_back(*required++);
      }
      inputs_.push_back({std::move(input.name), std::move(input.type), true});
    }
    inputs_.insert(inputs_.end(), required, base_->inputs().end());
  }

  const std::vector<TensorInfo>& inputs() const override { return inputs_; }
  const std::vector<TensorInfo>& outputs() const override { return base_->outputs(); }
  const std::vector<std::string>& notes() const override { return base_->notes(); }
  const Graph& graph() const override { return base_->graph(); }

  absl::StatusOr<std::unique_ptr<Context>> NewContext(const ContextOptions& options) override {
    ASSIGN_OR_RETURN(std::unique_ptr<Context> base, base_->NewContext(options));
    return std::unique_ptr<Context>(new ContextWithDefaults(
        std::static_pointer_cast<ModelWithDefaults>(shared_from_this()), options, std::move(base)));
  }

  // Of the plan without any optional input.
  absl::StatusOr<std::vector<NodeReport>> Report(absl::Span<const Shape> input_shapes,
                                                 int threads) override {
    if (input_shapes.size() != inputs_.size()) return WrongNumber(input_shapes.size());
    std::vector<Shape> shapes;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].optional) shapes.push_back(input_shapes[i]);
    }
    return base_->Report(shapes, threads);
  }

  MemoryUse memory() const override {
    MemoryUse use = base_->memory();
    std::lock_guard lock(mutex_);
    for (const auto& [fed, model] : variants_) {
      const MemoryUse more = model->memory();
      use.weight_bytes += more.weight_bytes;
      use.arena_bytes += more.arena_bytes;
      use.output_bytes += more.output_bytes;
    }
    return use;
  }

  absl::Status WrongNumber(size_t found) const {
    std::vector<std::string> names;
    for (const TensorInfo& info : inputs_) names.push_back(info.name);
    return absl::InvalidArgumentError(absl::StrCat("expected ", inputs_.size(), " inputs (",
                                                   absl::StrJoin(names, ", "), "), found ", found));
  }

  absl::StatusOr<std::shared_ptr<Model>> Variant(const Fed& fed) {
    std::lock_guard lock(mutex_);
    const auto known = std::find_if(variants_.begin(), variants_.end(),
                                    [&](const auto& entry) { return entry.first == fed; });
    if (known != variants_.end()) {
      variants_.splice(variants_.begin(), variants_, known);
      return variants_.front().second;
    }
    std::vector<std::string> names;
    for (size_t i = 0; i < fed.size(); ++i) {
      if (fed[i]) names.push_back(inputs_[i].name);
    }
    absl::StatusOr<std::shared_ptr<Model>> model = make_variant_(names);
    if (!model.ok()) {
      return absl::Status(model.status().code(),
                          absl::StrCat("the model cannot run with ", absl::StrJoin(names, ", "),
                                       " fed: ", model.status().message()));
    }
    variants_.emplace_front(fed, *model);
    if (variants_.size() > kMaxVariants) variants_.pop_back();
    return model;
  }

 private:
  const std::shared_ptr<Model> base_;
  const MakeVariant make_variant_;
  std::vector<TensorInfo> inputs_;
  mutable std::mutex mutex_;
  std::list<std::pair<Fed, std::shared_ptr<Model>>> variants_;  // most recently used first
};

absl::Status ContextWithDefaults::Run(absl::Span<const TensorView> inputs,
                                      std::vector<Tensor>* outputs) {
  const std::vector<TensorInfo>& infos = model_->inputs();
  if (inputs.size() != infos.size()) return model_->WrongNumber(inputs.size());
  fed_.assign(inputs.size(), false);
  views_.clear();
  bool any = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    // A tensor without elements may have no address.
    const bool given = inputs[i].data != nullptr ||
                       (inputs[i].type != ElementType::kUndefined && inputs[i].num_elements() == 0);
    if (infos[i].optional && !given) continue;
    fed_[i] = infos[i].optional;
    any = any || fed_[i];
    views_.push_back(inputs[i]);
  }
  last_ = base_.get();
  if (!any) return base_->Run(views_, outputs);
  ASSIGN_OR_RETURN(Context * context, VariantContext());
  last_ = context;
  return context->Run(views_, outputs);
}

absl::StatusOr<Context*> ContextWithDefaults::VariantContext() {
  const auto known = std::find_if(variants_.begin(), variants_.end(),
                                  [&](const Entry& entry) { return entry.fed == fed_; });
  if (known != variants_.end()) {
    variants_.splice(variants_.begin(), variants_, known);
    return variants_.front().context.get();
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<Model> model, model_->Variant(fed_));
  ASSIGN_OR_RETURN(std::unique_ptr<Context> context, model->NewContext(options_));
  if (observer_) context->SetObserver(observer_);
  variants_.push_front({fed_, std::move(context)});
  if (variants_.size() > kMaxVariants) variants_.pop_back();
  return variants_.front().context.get();
}

}  // namespace

std::shared_ptr<Model> WithOptionalInputs(std::shared_ptr<Model> base,
                                          std::vector<OptionalInput> optional,
                                          MakeVariant make_variant) {
  return std::make_shared<ModelWithDefaults>(std::move(base), std::move(optional),
                                             std::move(make_variant));
}

}  // namespace inferd::engine
