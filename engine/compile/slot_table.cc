#include "engine/compile/slot_table.h"

#include <algorithm>

#include "engine/compile/memory_plan.h"

namespace inferd::engine {

int SlotTable::AddExternal(TensorView view, SlotHome home, int64_t index) {
  storages_.emplace_back();
  storages_.back().home = home;
  storages_.back().index = index;
  storage_of_.push_back(static_cast<int>(storages_.size()) - 1);
  plan_.slots.push_back({std::move(view), home, index});
  return static_cast<int>(plan_.slots.size()) - 1;
}

int SlotTable::AddComputed(ElementType type, const Shape& shape, Layout layout) {
  const int slot = AddExternal({type, shape, layout, nullptr}, SlotHome::kArena, 0);
  Storage& storage = storage_of(slot);
  storage.computed = true;
  storage.type = type;
  storage.elements = layout.PhysicalElements(shape);
  storage.bytes = ElementBytes(type, storage.elements);
  return slot;
}

int SlotTable::AddShared(int slot, TensorView view) {
  const Slot shared{std::move(view), plan_.slots[slot].home, plan_.slots[slot].index};
  plan_.slots.push_back(shared);
  storage_of_.push_back(storage_of_[slot]);
  return static_cast<int>(plan_.slots.size()) - 1;
}

void SlotTable::Use(int slot, int step) {
  Storage& storage = storage_of(slot);
  storage.first = std::min(storage.first, step);
  storage.last = std::max(storage.last, step);
}

void SlotTable::PlaceStorages() {
  std::vector<MemoryRequest> requests;
  std::vector<Storage*> owners;
  for (Storage& storage : storages_) {
    if (!storage.computed) continue;
    if (storage.result) {
      storage.home = SlotHome::kBuffer;
      storage.index = static_cast<int64_t>(plan_.buffers.size());
      plan_.buffers.push_back({storage.type, storage.bytes, storage.elements});
    } else if (storage.type == ElementType::kString) {
      storage.home = SlotHome::kStrings;
      storage.index = static_cast<int64_t>(plan_.strings.size());
      plan_.strings.push_back(storage.elements);
    } else if (storage.last >= 0) {
      requests.push_back({static_cast<size_t>(storage.bytes), storage.first, storage.last});
      owners.push_back(&storage);
    }
  }
  for (const auto& [step, bytes] : workspaces_) requests.push_back({bytes, step, step});
  const MemoryPlan memory = PlanMemory(requests);
  plan_.arena_bytes = memory.arena_bytes;
  for (size_t r = 0; r < owners.size(); ++r) {
    owners[r]->index = static_cast<int64_t>(memory.offsets[r]);
  }
  for (size_t w = 0; w < workspaces_.size(); ++w) {
    plan_.steps[workspaces_[w].first].workspace_offset =
        static_cast<int64_t>(memory.offsets[owners.size() + w]);
  }
}

void SlotTable::Place() {
  PlaceStorages();
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    Slot& slot = plan_.slots[i];
    const int number = static_cast<int>(i);
    const Storage& storage = storage_of(number);
    slot.home = storage.home;
    slot.index = storage.index;
    const int where = static_cast<int>(storage.index);
    if (slot.home == SlotHome::kInput) plan_.input_slots.emplace_back(number, where);
    if (slot.home == SlotHome::kBuffer) plan_.buffer_slots.emplace_back(number, where);
    if (slot.home == SlotHome::kCarried) plan_.carried_slots.emplace_back(number, where);
  }
}

}  // namespace inferd::engine
