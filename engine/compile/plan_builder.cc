#include "engine/compile/plan_builder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/compile/fold.h"
#include "engine/compile/kernel_selection.h"
#include "engine/compile/memory_plan.h"
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

// Memory that one or more slots share.
struct Storage {
  SlotHome home = SlotHome::kArena;
  int64_t index = 0;
  bool computed = false;    // written by a step of this plan
  bool result = false;      // outlives the segment
  std::vector<int> values;  // whose data it holds
  int64_t bytes = 0;
  int64_t elements = 0;
  ElementType type = ElementType::kUndefined;
  int first = std::numeric_limits<int>::max();
  int last = -1;
};

class PlanBuilder {
 public:
  PlanBuilder(const PlanSettings& settings, Specialization segment, int threads)
      : settings_(settings),
        index_(*settings.index),
        segment_(std::move(segment)),
        threads_(threads),
        plan_(std::make_shared<Plan>()),
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
      return absl::UnimplementedError(absl::StrCat("cannot run ", gaps.size(), " node(s):\n  ",
                                                   absl::StrJoin(gaps, "\n  ")));
    }
    RETURN_IF_ERROR(AddResults());
    PlaceStorages();
    Finish();
    return std::shared_ptr<const Plan>(std::move(plan_));
  }

 private:
  const ValueState& state(int id) const { return segment_.end.values[id]; }

  int NewStorage(SlotHome home, int64_t index) {
    storages_.emplace_back();
    storages_.back().home = home;
    storages_.back().index = index;
    return static_cast<int>(storages_.size()) - 1;
  }

  int NewSlot(TensorView view, int storage) {
    plan_->slots.push_back({std::move(view), storages_[storage].home, 0});
    storage_of_.push_back(storage);
    return static_cast<int>(plan_->slots.size()) - 1;
  }

  // A slot for data this plan computes, in memory of its own.
  int NewComputedSlot(ElementType type, const Shape& shape, Layout layout) {
    const int s = NewStorage(SlotHome::kArena, 0);
    const int slot = NewSlot({type, shape, layout, nullptr}, s);
    storages_[s].computed = true;
    storages_[s].type = type;
    storages_[s].elements = layout.PhysicalElements(shape);
    storages_[s].bytes = ElementBytes(type, storages_[s].elements);
    return slot;
  }

  const TensorView& view(int slot) const { return plan_->slots[slot].view; }

  // The slot a value was made in.
  int PrimarySlot(int id) {
    if (!slots_of_[id].empty()) return slots_of_[id].front();
    const ValueState& v = state(id);
    TensorView slot_view{v.type, v.shape, Layout::Plain(), nullptr};
    int storage;
    if (v.known.defined()) {
      storage = NewStorage(SlotHome::kConstant, 0);
      slot_view.data = v.known.view().data;
      KeepKnown(id);
    } else if (is_input_[id] >= 0) {
      storage = NewStorage(SlotHome::kInput, is_input_[id]);
    } else {
      storage = NewStorage(SlotHome::kCarried, id);
    }
    storages_[storage].values.push_back(id);
    slots_of_[id].push_back(NewSlot(std::move(slot_view), storage));
    return slots_of_[id].front();
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
    slots_of_[id].push_back(slot);
    return slot;
  }

  absl::StatusOr<int> AddReorder(int id, int from, Layout layout) {
    if (settings_.reorder == nullptr) {
      return absl::InternalError(
          absl::StrCat("a kernel wants ", index_.value(id).name(), " in layout ",
                       layout.ToString(), ", and there is no operator to bring it there"));
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
    const int slot = NewComputedSlot(source.type, source.shape, layout);
    storages_[storage_of_[slot]].values.push_back(id);
    NodeReport report = Report(*spec.node, selected);
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
    return NewSlot(std::move(target), NewStorage(SlotHome::kConstant, 0));
  }

  static NodeReport Report(const Node& node, const SelectedKernel& selected) {
    NodeReport report;
    report.node = node.display_name();
    report.op = node.op().qualified_name();
    report.provider = std::string(selected.provider->name());
    report.kernel = selected.name;
    report.layout =
        selected.layouts.outputs.empty() ? "plain" : selected.layouts.outputs[0].ToString();
    if (node.origins().size() > 1) report.fused_from = node.origins();
    report.declined = selected.declined;
    return report;
  }

  static NodeReport ReportWithoutKernel(const Node& node, const char* how) {
    NodeReport report;
    report.node = node.display_name();
    report.op = node.op().qualified_name();
    report.provider = "planner";
    report.kernel = how;
    report.layout = "plain";
    if (node.origins().size() > 1) report.fused_from = node.origins();
    return report;
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
        workspaces_.push_back({s, selected.kernel->workspace_bytes()});
      }
      plan_->held_bytes += selected.kernel->held_bytes();
      step.kernel = std::move(selected.kernel);
    }
    for (const std::vector<int>* slots : {&inputs, &outputs}) {
      for (int slot : *slots) {
        plan_->operands.push_back(slot);
        if (slot < 0) continue;
        Storage& storage = storages_[storage_of_[slot]];
        storage.first = std::min(storage.first, s);
        storage.last = std::max(storage.last, s);
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
      spec.outputs[i] = {true,    state(id).type, state(id).shape, Layout::Plain(),
                         nullptr, &index_.value(id).type()};
    }
    return spec;
  }

  absl::Status AddNode(int n) {
    const GraphIndex::NodeEntry& entry = index_.nodes()[n];
    if (!settings_.plain_memory && IsAlias(entry.node->op())) return AddAlias(entry);

    NodeSpec spec = MakeSpec(entry);
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
    AddStep(inputs, outputs, std::move(report), std::move(selected));
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
      if (entry.node->op().dynamic_outputs) {
        outputs[i] = NewSlot({v.type, Shape{}, layout, nullptr}, NewStorage(SlotHome::kDynamic, 0));
      } else {
        const int in_place =
            i == 0 && inputs != nullptr ? InPlaceSlot(entry, *inputs, layout) : -1;
        if (in_place >= 0) {
          outputs[i] = NewSlot(view(in_place), storage_of_[in_place]);
        } else {
          outputs[i] = NewComputedSlot(v.type, v.shape, layout);
        }
      }
      storages_[storage_of_[outputs[i]]].values.push_back(id);
      slots_of_[id].push_back(outputs[i]);
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
      const Storage& storage = storages_[storage_of_[inputs[i]]];
      if (!storage.computed || !(in.layout == layout) || in.type != out.type ||
          !(in.shape == out.shape)) {
        continue;
      }
      const bool dies = std::all_of(storage.values.begin(), storage.values.end(),
                                    [&](int id) { return uses_[id] == 0 && !pinned_[id]; });
      const auto sharing = std::count_if(inputs.begin(), inputs.end(), [&](int slot) {
        return slot >= 0 && storage_of_[slot] == storage_of_[inputs[i]];
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
    storages_[storage_of_[slot]].values.push_back(out);
    slots_of_[out].push_back(NewSlot(std::move(alias), storage_of_[slot]));
    plan_->slots.back().home = plan_->slots[slot].home;
    plan_->reports.push_back(ReportWithoutKernel(*entry.node, "alias"));
    return absl::OkStatus();
  }

  absl::Status AddResults() {
    for (int o : segment_.outputs) {
      RETURN_IF_ERROR(AddResult(index_.outputs()[o], o, /*carried=*/false));
    }
    for (int id : segment_.crossing) {
      if (is_input_[id] >= 0) continue;  // the caller's memory is there for the whole run
      if (slots_of_[id].empty() || plan_->slots[slots_of_[id].front()].home == SlotHome::kCarried) {
        const bool carried_itself =
            slots_of_[id].empty() || storages_[storage_of_[slots_of_[id].front()]].index == id;
        if (carried_itself) continue;
      }
      RETURN_IF_ERROR(AddResult(id, -1, /*carried=*/true));
    }
    return absl::OkStatus();
  }

  absl::Status AddResult(int id, int output, bool carried) {
    ASSIGN_OR_RETURN(int slot, SlotInLayout(id, Layout::Plain()));
    int storage = storage_of_[slot];
    if (!storages_[storage].computed && plan_->slots[slot].home != SlotHome::kDynamic) {
      slot = CopyOf(id, slot);
      storage = storage_of_[slot];
    }
    Result result;
    result.slot = slot;
    result.output = output;
    result.value = carried ? id : -1;
    if (plan_->slots[slot].home != SlotHome::kDynamic) storages_[storage].result = true;
    plan_->results.push_back(result);
    return absl::OkStatus();
  }

  // Memory the segment does not own (inputs, constants) is copied into memory it does, once.
  int CopyOf(int id, int from) {
    for (const auto& [value, slot] : copies_) {
      if (value == id) return slot;
    }
    const TensorView source = view(from);
    const int slot = NewComputedSlot(source.type, source.shape, source.layout);
    AddStep({from}, {slot}, {}, {});
    copies_.emplace_back(id, slot);
    return slot;
  }

  void PlaceStorages() {
    std::vector<MemoryRequest> requests;
    std::vector<int> owners;
    for (size_t s = 0; s < storages_.size(); ++s) {
      Storage& storage = storages_[s];
      if (!storage.computed) continue;
      if (storage.result) {
        storage.home = SlotHome::kBuffer;
        storage.index = static_cast<int64_t>(plan_->buffers.size());
        plan_->buffers.push_back({storage.type, storage.bytes, storage.elements});
      } else if (storage.type == ElementType::kString) {
        storage.home = SlotHome::kStrings;
        storage.index = static_cast<int64_t>(plan_->strings.size());
        plan_->strings.push_back(storage.elements);
      } else if (storage.last >= 0) {
        requests.push_back({static_cast<size_t>(storage.bytes), storage.first, storage.last});
        owners.push_back(static_cast<int>(s));
      }
    }
    for (const auto& [step, bytes] : workspaces_) requests.push_back({bytes, step, step});
    const MemoryPlan memory = PlanMemory(requests);
    plan_->arena_bytes = memory.arena_bytes;
    for (size_t r = 0; r < owners.size(); ++r) {
      storages_[owners[r]].index = static_cast<int64_t>(memory.offsets[r]);
    }
    for (size_t w = 0; w < workspaces_.size(); ++w) {
      plan_->steps[workspaces_[w].first].workspace_offset =
          static_cast<int64_t>(memory.offsets[owners.size() + w]);
    }
    for (size_t i = 0; i < plan_->slots.size(); ++i) {
      Slot& slot = plan_->slots[i];
      const Storage& storage = storages_[storage_of_[i]];
      slot.home = storage.home;
      slot.index = storage.index;
      const int number = static_cast<int>(i);
      const int where = static_cast<int>(storage.index);
      if (slot.home == SlotHome::kInput) plan_->input_slots.emplace_back(number, where);
      if (slot.home == SlotHome::kBuffer) plan_->buffer_slots.emplace_back(number, where);
      if (slot.home == SlotHome::kCarried) plan_->carried_slots.emplace_back(number, where);
    }
    for (Result& result : plan_->results) {
      const Slot& slot = plan_->slots[result.slot];
      if (slot.home == SlotHome::kBuffer) result.buffer = static_cast<int>(slot.index);
    }
  }

  void Finish() {
    for (int n : segment_.later) {
      plan_->reports.push_back(
          ReportWithoutKernel(*index_.nodes()[n].node, "planned once its shapes are known"));
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
    plan_->has_dynamic_outputs = !segment_.dynamic.empty();
    plan_->byte_counter = settings_.byte_counter;
    if (plan_->byte_counter != nullptr) *plan_->byte_counter += plan_->held_bytes;
  }

  const PlanSettings& settings_;
  const GraphIndex& index_;
  Specialization segment_;
  const int threads_;
  std::shared_ptr<Plan> plan_;
  std::vector<Storage> storages_;
  std::vector<int> storage_of_;              // per slot
  std::vector<std::vector<int>> slots_of_;   // per value; the first is the one it was made in
  std::vector<int> uses_;                    // per value: reads by steps not added yet
  std::vector<bool> pinned_;                 // per value: read after the segment
  std::vector<int> is_input_;                // per value: graph input position or -1
  std::vector<std::pair<int, size_t>> workspaces_;  // step, bytes
  std::vector<std::pair<int, int>> copies_;         // value, slot
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Plan>> BuildPlan(const PlanSettings& settings,
                                                      Specialization segment, int threads) {
  return PlanBuilder(settings, std::move(segment), threads).Build();
}

}  // namespace inferd::engine
