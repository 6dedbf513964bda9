#include "engine/compile/specialize.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/compile/fold.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr int kAbsent = GraphIndex::kAbsent;
// 2^46 elements of the widest type are a petabyte: a shape beyond is a broken model or request.
constexpr int64_t kMaxElements = int64_t{1} << 46;

absl::Status Annotate(const Node& node, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(node.display_name(), ": ", status.message()));
}

// Types and contents of a node's inputs as one segment knows them.
class SegmentInference final : public InferenceContext {
 public:
  SegmentInference(const GraphIndex::NodeEntry& entry, const std::vector<ValueState>& values,
                   const std::vector<ValueType>& types)
      : entry_(entry), values_(values), types_(types), outputs_(entry.outputs.size()) {}

  const Node& node() const override { return *entry_.node; }
  const ValueType& input_type(int i) const override {
    return Present(i) ? types_[entry_.inputs[i]] : absent_;
  }
  const Tensor* constant(int i) const override {
    if (!Present(i)) return nullptr;
    const Tensor& known = values_[entry_.inputs[i]].known;
    return known.defined() ? &known : nullptr;
  }
  using InferenceContext::SetOutput;
  void SetOutput(int i, ValueType type) override {
    // A shape function describes every formal output; the node may not have asked for all.
    if (i < static_cast<int>(outputs_.size())) outputs_[i] = std::move(type);
  }
  std::vector<ValueType>& outputs() { return outputs_; }

 private:
  bool Present(int i) const {
    return i < static_cast<int>(entry_.inputs.size()) && entry_.inputs[i] != kAbsent;
  }

  const GraphIndex::NodeEntry& entry_;
  const std::vector<ValueState>& values_;
  const std::vector<ValueType>& types_;
  ValueType absent_;
  std::vector<ValueType> outputs_;
};

class Specializer {
 public:
  Specializer(const GraphIndex& index, SegmentState start, const SpecializeOptions& options)
      : index_(index),
        options_(options),
        state_(std::move(start)),
        types_(index.num_values()),
        fate_(index.nodes().size(), Fate::kBlocked),
        wants_(index.nodes().size()) {}

  absl::StatusOr<Specialization> Run() {
    for (int id = 0; id < index_.num_values(); ++id) {
      const ValueState& v = state_.values[id];
      if (!v.available) continue;
      types_[id] = v.type == ElementType::kComposite ? index_.value(id).type()
                                                     : ValueType::TensorOf(v.type, v.shape);
    }
    for (size_t n = 0; n < index_.nodes().size(); ++n) RETURN_IF_ERROR(Visit(n));
    return Collect();
  }

 private:
  enum class Fate : uint8_t { kBlocked, kDoneBefore, kFolded, kRuns };

  absl::Status Visit(size_t n) {
    const GraphIndex::NodeEntry& entry = index_.nodes()[n];
    const OpDef& op = entry.node->op();
    if (state_.node_done[n]) {
      fate_[n] = Fate::kDoneBefore;
      return absl::OkStatus();
    }
    for (int id : entry.inputs) {
      if (id != kAbsent && !state_.values[id].available) return absl::OkStatus();
    }
    for (int i : op.shape_inputs) {
      if (i >= static_cast<int>(entry.inputs.size()) || entry.inputs[i] == kAbsent) continue;
      if (!state_.values[entry.inputs[i]].known.defined()) wants_[n].push_back(entry.inputs[i]);
    }
    if (!wants_[n].empty()) return absl::OkStatus();

    SegmentInference inference(entry, state_.values, types_);
    if (absl::Status s = op.infer(inference); !s.ok()) return Annotate(*entry.node, s);
    return Place(n, inference.outputs());
  }

  // Decides what becomes of a node whose shape inputs are known.
  absl::Status Place(size_t n, std::vector<ValueType>& outputs) {
    const GraphIndex::NodeEntry& entry = index_.nodes()[n];
    const OpDef& op = entry.node->op();
    const bool all_known = InputsKnown(entry);
    std::vector<TensorView> views(entry.outputs.size());
    bool concrete = true;
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      const int id = entry.outputs[i];
      if (id == kAbsent) continue;
      if (!outputs[i].is_tensor()) {
        views[i].type = ElementType::kComposite;
        continue;
      }
      views[i].type = outputs[i].element;
      const std::optional<Shape> shape = outputs[i].shape.concrete();
      if (!shape.has_value()) {
        concrete = false;
        continue;
      }
      absl::StatusOr<int64_t> count = shape->CheckedNumElements();
      if (!count.ok()) return Annotate(*entry.node, count.status());
      if (*count > kMaxElements) {
        return absl::ResourceExhaustedError(absl::StrCat(entry.node->display_name(), ": output ", i,
                                                         " would have shape ", shape->ToString(),
                                                         ", more than any memory holds"));
      }
      views[i].shape = *shape;
    }
    if (all_known && (concrete || op.dynamic_outputs) && Foldable(entry, views)) {
      return Fold(n, views);
    }
    if (!concrete && !op.dynamic_outputs) {
      // The shape function needs a value that the schema does not list: wait for all of them.
      for (int id : entry.inputs) {
        if (id == kAbsent || state_.values[id].known.defined()) continue;
        if (state_.values[id].type != ElementType::kComposite) wants_[n].push_back(id);
      }
      if (!wants_[n].empty()) return absl::OkStatus();
      return absl::InternalError(absl::StrCat(
          entry.node->display_name(),
          ": the shape function left an output shape unknown although every input is known"));
    }
    fate_[n] = Fate::kRuns;
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      const int id = entry.outputs[i];
      if (id == kAbsent) continue;
      ValueState& v = state_.values[id];
      v.type = views[i].type;
      // The kernel decides the shape: the value becomes available to the next segment.
      if (op.dynamic_outputs) continue;
      v.available = true;
      v.shape = views[i].shape;
      types_[id] = outputs[i].is_tensor() ? ValueType::TensorOf(v.type, v.shape) : outputs[i];
    }
    return absl::OkStatus();
  }

  bool InputsKnown(const GraphIndex::NodeEntry& entry) const {
    if (DependsOnShapesOnly(entry.node->op())) return true;
    return std::all_of(entry.inputs.begin(), entry.inputs.end(),
                       [&](int id) { return id == kAbsent || state_.values[id].known.defined(); });
  }

  bool Foldable(const GraphIndex::NodeEntry& entry, const std::vector<TensorView>& outputs) const {
    const OpDef& op = entry.node->op();
    if (!op.is_deterministic || op.reference == nullptr || !entry.node->bodies().empty()) {
      return false;
    }
    for (const TensorView& view : outputs) {
      if (view.type == ElementType::kComposite) return false;
    }
    if (DependsOnShapesOnly(op)) return true;
    if (!options_.fold) return false;
    int64_t bytes = 0;
    for (int id : entry.inputs) {
      if (id != kAbsent) bytes += state_.values[id].known.num_bytes();
    }
    for (const TensorView& view : outputs) {
      if (view.type == ElementType::kUndefined || op.dynamic_outputs) continue;
      // Compared before it is multiplied: a count near the limit would overflow in bytes.
      if (view.num_elements() > kMaxFoldBytes) return false;
      bytes += view.num_bytes();
    }
    return bytes <= kMaxFoldBytes;
  }

  absl::Status Fold(size_t n, const std::vector<TensorView>& outputs) {
    const GraphIndex::NodeEntry& entry = index_.nodes()[n];
    std::vector<TensorView> inputs(entry.inputs.size());
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const int id = entry.inputs[i];
      if (id == kAbsent) continue;
      const ValueState& v = state_.values[id];
      inputs[i] = v.known.defined() ? v.known.view()
                                    : TensorView{v.type, v.shape, Layout::Plain(), nullptr};
    }
    absl::StatusOr<std::vector<Tensor>> results = EvaluateNode(*entry.node, inputs, outputs);
    if (!results.ok()) return Annotate(*entry.node, results.status());
    fate_[n] = Fate::kFolded;
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      const int id = entry.outputs[i];
      if (id == kAbsent) continue;
      ValueState& v = state_.values[id];
      v.known = std::move((*results)[i]);
      v.available = true;
      v.type = v.known.type();
      v.shape = v.known.shape();
      types_[id] = ValueType::TensorOf(v.type, v.shape);
    }
    return absl::OkStatus();
  }

  // Keeps what graph outputs and later segments need, backwards from the end.
  absl::StatusOr<Specialization> Collect() {
    std::vector<bool> needed(index_.num_values(), false);
    std::vector<bool> needed_later(index_.num_values(), false);
    for (size_t o = 0; o < index_.outputs().size(); ++o) {
      if (!state_.output_done[o]) needed[index_.outputs()[o]] = true;
    }
    Specialization result;
    std::vector<bool> wanted(index_.num_values(), false);
    for (int n = static_cast<int>(index_.nodes().size()) - 1; n >= 0; --n) {
      const GraphIndex::NodeEntry& entry = index_.nodes()[n];
      if (fate_[n] == Fate::kDoneBefore) continue;
      if (fate_[n] == Fate::kFolded) {
        state_.node_done[n] = true;
        result.folded.push_back(n);
        continue;
      }
      const bool live = std::any_of(entry.outputs.begin(), entry.outputs.end(), [&](int id) {
        return id != kAbsent && needed[id] && !state_.values[id].known.defined();
      });
      if (fate_[n] == Fate::kRuns) state_.node_done[n] = true;
      if (!live) continue;
      for (int id : entry.inputs) {
        if (id != kAbsent) needed[id] = true;
      }
      if (fate_[n] == Fate::kRuns) {
        result.nodes.push_back(n);
        if (entry.node->op().dynamic_outputs) {
          for (int id : entry.outputs) {
            if (id != kAbsent) result.dynamic.push_back(id);
          }
        }
        continue;
      }
      result.later.push_back(n);
      for (int id : entry.inputs) {
        if (id != kAbsent) needed_later[id] = true;
      }
      for (int id : wants_[n]) wanted[id] = true;
    }
    std::reverse(result.nodes.begin(), result.nodes.end());
    std::reverse(result.folded.begin(), result.folded.end());
    std::reverse(result.later.begin(), result.later.end());
    std::sort(result.dynamic.begin(), result.dynamic.end());

    std::vector<bool> is_dynamic(index_.num_values(), false);
    for (int id : result.dynamic) is_dynamic[id] = true;
    for (int id = 0; id < index_.num_values(); ++id) {
      const ValueState& v = state_.values[id];
      if (wanted[id]) result.wanted.push_back(id);
      if ((needed_later[id] || wanted[id]) && !v.known.defined() &&
          (v.available || is_dynamic[id])) {
        result.crossing.push_back(id);
      }
    }
    for (size_t o = 0; o < index_.outputs().size(); ++o) {
      const int id = index_.outputs()[o];
      if (state_.output_done[o] || !(state_.values[id].available || is_dynamic[id])) continue;
      state_.output_done[o] = true;
      result.outputs.push_back(static_cast<int>(o));
    }
    if (!result.finished() && result.nodes.empty() && result.wanted.empty()) {
      return absl::InternalError(
          absl::StrCat(index_.nodes()[result.later.front()].node->display_name(),
                       " cannot be planned: its inputs are never computed"));
    }
    result.end = std::move(state_);
    return result;
  }

  const GraphIndex& index_;
  const SpecializeOptions& options_;
  SegmentState state_;
  std::vector<ValueType> types_;
  std::vector<Fate> fate_;
  std::vector<std::vector<int>> wants_;  // per node: values it waits for
};

}  // namespace

SegmentState SegmentState::Initial(const GraphIndex& index) {
  SegmentState state;
  state.values.resize(index.num_values());
  state.node_done.assign(index.nodes().size(), false);
  state.output_done.assign(index.outputs().size(), false);
  for (int id = 0; id < index.num_values(); ++id) {
    const Value& value = index.value(id);
    if (!value.is_constant()) continue;
    ValueState& v = state.values[id];
    v.available = true;
    v.known = value.constant();
    v.type = v.known.type();
    v.shape = v.known.shape();
  }
  return state;
}

absl::StatusOr<Specialization> Specialize(const GraphIndex& index, SegmentState start,
                                          const SpecializeOptions& options) {
  return Specializer(index, std::move(start), options).Run();
}

}  // namespace inferd::engine
