#include "engine/compile/plan_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/compile/fold.h"
#include "engine/compile/kernel_selection.h"
#include "engine/compile/node_work.h"
#include "engine/compile/slot_table.h"
#include "engine/ops/op_def.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

constexpr int kAbsent = GraphIndex::kAbsent;

uint64_t NextPlanId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

bool IsAlias(const OpDef& op) {
  return op.is_reshape || (op.domain.empty() && op.name == "Identity");
}

// Types may be known only now: a kernel written for tensors must never see a composite.
absl::Status CheckComposites(const NodeSpec& spec) {
  for (size_t i = 0; i < spec.inputs.size(); ++i) {
    if (spec.inputs[i].type != ElementType::kComposite) continue;
    const FormalParameter* parameter = spec.op().input_parameter(static_cast<int>(i));
    if (parameter == nullptr || parameter->types.empty() ||
        parameter->types.contains(ElementType::kComposite)) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(spec.node->display_name(), ": input ", i, " (", parameter->name, ") is a ",
                     spec.inputs[i].value_type->ToString(), ", expected a tensor"));
  }
  return absl::OkStatus();
}

class PlanBuilder {
 public:
  PlanBuilder(const PlanSettings& settings, Specialization segment, int threads)
      : settings_(settings),
        index_(*settings.index),
        segment_(std::move(segment)),
        threads_(threads),
        plan_(std::make_shared<Plan>()),
        slots_(*plan_),
        slots_of_(index_.num_values()),
        uses_(index_.num_values(), 0),
        pinned_(index_.num_values(), false),
        is_input_(index_.num_values(), -1) {}

  absl::StatusOr<std::shared_ptr<const Plan>> Build() {
    plan_->id = NextPlanId();
    for (size_t i = 0; i < index_.inputs().size(); ++i) {
      is_input_[index_.inputs()[i]] = static_cast<int>(i);
    }
    for (int n : segment_.nodes) {
      for (int id : index_.nodes()[n].inputs) {
        if (id != kAbsent) ++uses_[id];
      }
    }
    for (int id : segment_.crossing) pinned_[id] = true;
    for (int o : segment_.outputs) pinned_[index_.outputs()[o]] = true;

    ReportFolded();
    std::vector<std::string> gaps;
    for (int n : segment_.nodes) {
      absl::Status status = AddNode(n);
      if (absl::IsUnimplemented(status)) {
        gaps.emplace_back(status.message());
        // Later nodes are planned as if this one ran, so that all gaps are found.
        AddOutputSlots(n, {});
        continue;
      }
      RETURN_IF_ERROR(status);
    }
    if (!gaps.empty()) {
      return absl::UnimplementedError(
          absl::StrCat("cannot run ", gaps.size(), " node(s):\n  ", absl::StrJoin(gaps, "\n  ")));
    }
    RETURN_IF_ERROR(AddResults());
    Finish();
    return std::shared_ptr<const Plan>(std::move(plan_));
  }

 private:
  const ValueState& state(int id) const { return segment_.end.values[id]; }

  const TensorView& view(int slot) const { return slots_.view(slot); }

  // `slot` has the data of value `id` from now on.
  int Hold(int id, int slot) {
    slots_.storage_of(slot).values.push_back(id);
    slots_of_[id].push_back(slot);
    return slot;
  }

  // The slot a value was made in.
  int PrimarySlot(int id) {
    if (!slots_of_[id].empty()) return slots_of_[id].front();
    const ValueState& v = state(id);
    TensorView slot_view{v.type, v.shape, Layout::Plain(), nullptr};
    SlotHome home = SlotHome::kCarried;
    int64_t index = id;
    if (v.known.defined()) {
      home = SlotHome::kConstant;
      slot_view.data = v.known.view().data;
      KeepKnown(id);
    } else if (is_input_[id] >= 0) {
      home = SlotHome::kInput;
      index = is_input_[id];
    }
    return Hold(id, slots_.AddExternal(std::move(slot_view), home, index));
  }

  bool IsPlanConstant(int id) const {
    return state(id).known.defined() && !index_.value(id).is_constant();
  }

  // A folded value a step reads must live as long as the plan.
  void KeepKnown(int id) {
    if (!IsPlanConstant(id)) return;
    plan_->folded.push_back(state(id).known);
    plan_->held_bytes += state(id).known.num_bytes();
  }

  // The value in a given layout, by a reorder where it is not there yet.
  absl::StatusOr<int> SlotInLayout(int id, Layout layout) {
    const int primary = PrimarySlot(id);
    for (int slot : slots_of_[id]) {
      if (view(slot).layout == layout) return slot;
    }
    ASSIGN_OR_RETURN(const int slot, AddReorder(id, primary, layout));
    return Hold(id, slot);
  }

  absl::StatusOr<int> AddReorder(int id, int from, Layout layout) {
    if (settings_.reorder == nullptr) {
      return absl::InternalError(absl::StrCat("a kernel wants ", index_.value(id).name(),
                                              " in layout ", layout.ToString(),
                                              ", and there is no operator to bring it there"));
    }
    const TensorView source = view(from);
    Graph scratch;
    Value* x = scratch.AddInput("x", ValueType::TensorOf(source.type, source.shape));
    Value* y = scratch.AddValue("y");
    NodeSpec spec;
    spec.node = scratch.AddNode(*settings_.reorder,
                                absl::StrCat("reorder of ", index_.value(id).name()), {x}, {y});
    spec.threads = threads_;
    spec.inputs.push_back({true, source.type, source.shape, source.layout});
    spec.outputs.push_back({true, source.type, source.shape, layout});
    ASSIGN_OR_RETURN(SelectedKernel selected, SelectKernel(settings_.providers, spec));
    if (!(selected.layouts.inputs[0] == source.layout) ||
        !(selected.layouts.outputs[0] == layout)) {
      return absl::InternalError(absl::StrCat("the reorder kernel ", selected.name,
                                              " does not keep the layouts it was asked for"));
    }
    if (plan_->slots[from].home == SlotHome::kConstant) {
      return ReorderConstant(source, layout, *selected.kernel);
    }
    const int slot = slots_.AddComputed(source.type, source.shape, layout);
    NodeReport report = Report(*spec.node, selected);
    report.work = WorkOf(spec);
    AddStep({from}, {slot}, std::move(report), std::move(selected));
    return slot;
  }

  // A constant is brought into its layout once, now.
  absl::StatusOr<int> ReorderConstant(const TensorView& source, Layout layout,
                                      const Kernel& kernel) {
    TensorView target{source.type, source.shape, layout, nullptr};
    ASSIGN_OR_RETURN(BufferRef buffer, AllocateHostBuffer(target.num_bytes()));
    target.data = buffer->data();
    RETURN_IF_ERROR(RunKernelOnce(kernel, {source}, {target}));
    plan_->held_bytes += target.num_bytes();
    plan_->reordered.push_back(std::move(buffer));
    return slots_.AddExternal(std::move(target), SlotHome::kConstant, 0);
  }

  void ReportFolded() {
    for (int n : segment_.folded) {
      const GraphIndex::NodeEntry& entry = index_.nodes()[n];
      plan_->reports.push_back(ReportWithoutKernel(*entry.node, "folded"));
      if (!settings_.plain_memory) continue;
      for (int id : entry.outputs) {
        if (id != kAbsent) plan_->folded_values.emplace_back(id, state(id).known);
      }
    }
  }

  void AddStep(const std::vector<int>& inputs, const std::vector<int>& outputs, NodeReport report,
               SelectedKernel selected) {
    const int s = static_cast<int>(plan_->steps.size());
    Step step;
    step.provider = selected.provider;
    step.first_operand = static_cast<int>(plan_->operands.size());
    step.num_inputs = static_cast<int>(inputs.size());
    step.num_outputs = static_cast<int>(outputs.size());
    if (selected.kernel != nullptr) {
      step.report = static_cast<int>(plan_->reports.size());
      plan_->reports.push_back(std::move(report));
      if (selected.kernel->workspace_bytes() > 0) {
        slots_.UseWorkspace(s, selected.kernel->workspace_bytes());
      }
      plan_->held_bytes += selected.kernel->held_bytes();
      step.kernel = std::move(selected.kernel);
    }
    for (const std::vector<int>* slots : {&inputs, &outputs}) {
      for (int slot : *slots) {
        plan_->operands.push_back(slot);
        if (slot >= 0) slots_.Use(slot, s);
      }
    }
    plan_->steps.push_back(std::move(step));
  }

  NodeSpec MakeSpec(const GraphIndex::NodeEntry& entry) {
    NodeSpec spec;
    spec.node = entry.node;
    spec.threads = threads_;
    spec.packed_weights = settings_.packed_weights;
    spec.inputs.resize(entry.inputs.size());
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const int id = entry.inputs[i];
      if (id == kAbsent) continue;
      const TensorView& v = view(PrimarySlot(id));
      OperandSpec& operand = spec.inputs[i];
      operand = {true, v.type, v.shape, v.layout, nullptr, &index_.value(id).type()};
      if (!state(id).known.defined()) continue;
      operand.constant = &state(id).known;
      // Packed forms live as long as the model; values of this plan alone must not end up there.
      if (IsPlanConstant(id)) spec.packed_weights = nullptr;
    }
    spec.outputs.resize(entry.outputs.size());
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      const int id = entry.outputs[i];
      if (id == kAbsent) continue;
      spec.outputs[i] = {true,    state(id).type,          state(id).shape, Layout::Plain(),
                         nullptr, &index_.value(id).type()};
    }
    return spec;
  }

  absl::Status AddNode(int n) {
    const GraphIndex::NodeEntry& entry = index_.nodes()[n];
    // A composite is handed from kernel to kernel, each in a slot of its own.
    if (!settings_.plain_memory && IsAlias(entry.node->op()) &&
        state(entry.inputs[0]).type != ElementType::kComposite) {
      return AddAlias(entry);
    }

    NodeSpec spec = MakeSpec(entry);
    RETURN_IF_ERROR(CheckComposites(spec));
    ASSIGN_OR_RETURN(SelectedKernel selected, SelectKernel(settings_.providers, spec));
    std::vector<int> inputs(entry.inputs.size(), -1);
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const int id = entry.inputs[i];
      if (id == kAbsent) continue;
      ASSIGN_OR_RETURN(inputs[i], SlotInLayout(id, selected.layouts.inputs[i]));
    }
    ReleaseInputs(entry);
    const std::vector<int> outputs = AddOutputSlots(n, selected.layouts.outputs, &inputs);
    NodeReport report = Report(*entry.node, selected);
    report.work = WorkOf(spec);
    AddStep(inputs, outputs, std::move(report), std::move(selected));
    if (!entry.node->bodies().empty()) plan_->steps.back().node = entry.node;
    return absl::OkStatus();
  }

  void ReleaseInputs(const GraphIndex::NodeEntry& entry) {
    for (int id : entry.inputs) {
      if (id != kAbsent) --uses_[id];
    }
  }

  // `layouts` may be empty: plain. `inputs`, when given, may be written over where that is
  // allowed.
  std::vector<int> AddOutputSlots(int n, const std::vector<Layout>& layouts,
                                  const std::vector<int>* inputs = nullptr) {
    const GraphIndex::NodeEntry& entry = index_.nodes()[n];
    std::vector<int> outputs(entry.outputs.size(), -1);
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      const int id = entry.outputs[i];
      if (id == kAbsent) continue;
      const Layout layout = layouts.empty() ? Layout::Plain() : layouts[i];
      const ValueState& v = state(id);
      if (entry.node->op().dynamic_outputs || v.type == ElementType::kComposite) {
        outputs[i] = slots_.AddExternal({v.type, Shape{}, layout, nullptr}, SlotHome::kDynamic, 0);
      } else {
        const int in_place = i == 0 && inputs != nullptr ? InPlaceSlot(entry, *inputs, layout) : -1;
        outputs[i] = in_place >= 0 ? slots_.AddShared(in_place, view(in_place))
                                   : slots_.AddComputed(v.type, v.shape, layout);
      }
      Hold(id, outputs[i]);
    }
    return outputs;
  }

  // The input whose memory output 0 takes over, or -1.
  int InPlaceSlot(const GraphIndex::NodeEntry& entry, const std::vector<int>& inputs,
                  Layout layout) const {
    if (settings_.plain_memory) return -1;
    const ValueState& out = state(entry.outputs[0]);
    for (int i : entry.node->op().in_place_inputs) {
      if (i >= static_cast<int>(inputs.size()) || inputs[i] < 0) continue;
      const TensorView& in = view(inputs[i]);
      const Storage& storage = slots_.storage_of(inputs[i]);
      if (!storage.computed || !(in.layout == layout) || in.type != out.type ||
          !(in.shape == out.shape)) {
        continue;
      }
      const bool dies = std::all_of(storage.values.begin(), storage.values.end(),
                                    [&](int id) { return uses_[id] == 0 && !pinned_[id]; });
      const auto sharing = std::count_if(inputs.begin(), inputs.end(), [&](int slot) {
        return slot >= 0 && slots_.share_storage(slot, inputs[i]);
      });
      if (dies && sharing == 1) return inputs[i];
    }
    return -1;
  }

  absl::Status AddAlias(const GraphIndex::NodeEntry& entry) {
    const int in = entry.inputs[0];
    const int out = entry.outputs[0];
    int slot = PrimarySlot(in);
    if (!(state(in).shape == state(out).shape)) {
      ASSIGN_OR_RETURN(slot, SlotInLayout(in, Layout::Plain()));
    }
    ReleaseInputs(entry);
    TensorView alias = view(slot);
    alias.shape = state(out).shape;
    Hold(out, slots_.AddShared(slot, std::move(alias)));
    plan_->reports.push_back(ReportWithoutKernel(*entry.node, "alias"));
    return absl::OkStatus();
  }

  absl::Status AddResults() {
    for (int o : segment_.outputs) {
      RETURN_IF_ERROR(AddResult(index_.outputs()[o], o, /*carried=*/false));
    }
    for (int id : segment_.crossing) {
      if (is_input_[id] >= 0) continue;     // the caller's memory is there for the whole run
      if (slots_of_[id].empty()) continue;  // carried already, and not read here
      const Slot& made_in = plan_->slots[slots_of_[id].front()];
      if (made_in.home == SlotHome::kCarried && made_in.index == id) continue;
      RETURN_IF_ERROR(AddResult(id, -1, /*carried=*/true));
    }
    return absl::OkStatus();
  }

  absl::Status AddResult(int id, int output, bool carried) {
    ASSIGN_OR_RETURN(int slot, SlotInLayout(id, Layout::Plain()));
    const bool dynamic = plan_->slots[slot].home == SlotHome::kDynamic;
    if (!dynamic && !slots_.storage_of(slot).computed) slot = CopyOf(id, slot);
    Result result;
    result.slot = slot;
    result.output = output;
    result.value = carried ? id : -1;
    if (!dynamic) slots_.storage_of(slot).result = true;
    plan_->results.push_back(result);
    return absl::OkStatus();
  }

  // Memory the segment does not own (inputs, constants) is copied into memory it does, once.
  int CopyOf(int id, int from) {
    for (const auto& [value, slot] : copies_) {
      if (value == id) return slot;
    }
    const TensorView source = view(from);
    const int slot = slots_.AddComputed(source.type, source.shape, source.layout);
    AddStep({from}, {slot}, {}, {});
    copies_.emplace_back(id, slot);
    return slot;
  }

  void Finish() {
    slots_.Place();
    for (Result& result : plan_->results) {
      const Slot& slot = plan_->slots[result.slot];
      if (slot.home == SlotHome::kBuffer) result.buffer = static_cast<int>(slot.index);
    }
    for (int n : segment_.later) {
      plan_->reports.push_back(
          ReportWithoutKernel(*index_.nodes()[n].node, kPlannedLater));
    }
    if (settings_.plain_memory) {
      std::vector<int> value_of(plan_->slots.size(), -1);
      for (int id = 0; id < index_.num_values(); ++id) {
        for (int slot : slots_of_[id]) value_of[slot] = id;
      }
      for (int slot : plan_->operands) {
        plan_->operand_values.push_back(slot < 0 ? -1 : value_of[slot]);
      }
    }
    if (!segment_.finished()) {
      plan_->wanted_values = segment_.wanted;
      for (int id : segment_.dynamic) {
        if (std::binary_search(segment_.crossing.begin(), segment_.crossing.end(), id)) {
          plan_->dynamic_values.push_back(id);
        }
      }
      plan_->continuation = std::make_unique<const SegmentState>(std::move(segment_.end));
    }
    plan_->has_dynamic_outputs =
        std::any_of(plan_->slots.begin(), plan_->slots.end(),
                    [](const Slot& slot) { return slot.home == SlotHome::kDynamic; });
    plan_->byte_counter = settings_.byte_counter;
    if (plan_->byte_counter != nullptr) *plan_->byte_counter += plan_->held_bytes;
  }

  const PlanSettings& settings_;
  const GraphIndex& index_;
  Specialization segment_;
  const int threads_;
  std::shared_ptr<Plan> plan_;
  SlotTable slots_;
  std::vector<std::vector<int>> slots_of_;   // per value; the first is the one it was made in
  std::vector<int> uses_;                    // per value: reads by steps not added yet
  std::vector<bool> pinned_;                 // per value: read after the segment
  std::vector<int> is_input_;                // per value: graph input position or -1
  std::vector<std::pair<int, int>> copies_;  // value, slot
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Plan>> BuildPlan(const PlanSettings& settings,
                                                      Specialization segment, int threads) {
  return PlanBuilder(settings, std::move(segment), threads).Build();
}

}  // namespace inferd::engine
