// The slots of a plan being built and the memory behind them.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Memory that one or more slots share.
struct Storage {
  SlotHome home = SlotHome::kArena;
  int64_t index = 0;
  bool computed = false;    // written by a step of this plan
  bool result = false;      // outlives the segment
  std::vector<int> values;  // ids of the values it holds
  int64_t bytes = 0;
  int64_t elements = 0;
  ElementType type = ElementType::kUndefined;
  // Steps that use it, both ends included; last is -1 where none does.
  int first = std::numeric_limits<int>::max();
  int last = -1;
};

// Fills Plan::slots as the builder adds steps, then decides where each lies. `plan` outlives it.
class SlotTable {
 public:
  explicit SlotTable(Plan& plan) : plan_(plan) {}

  const TensorView& view(int slot) const { return plan_.slots[slot].view; }
  Storage& storage_of(int slot) { return storages_[storage_of_[slot]]; }
  const Storage& storage_of(int slot) const { return storages_[storage_of_[slot]]; }
  bool share_storage(int a, int b) const { return storage_of_[a] == storage_of_[b]; }

  // A slot for data that exists before the segment runs or that its kernel allocates.
  int AddExternal(TensorView view, SlotHome home, int64_t index);
  // A slot for data a step computes, in memory of its own.
  int AddComputed(ElementType type, const Shape& shape, Layout layout);
  // Another view of the memory behind `slot`.
  int AddShared(int slot, TensorView view);

  // `slot` is an operand of step number `step`, which may need workspace.
  void Use(int slot, int step);
  void UseWorkspace(int step, size_t bytes) { workspaces_.emplace_back(step, bytes); }

  // Plans the arena, and sets the home of every slot and the workspace of every step of the plan.
  void Place();

 private:
  void PlaceStorages();

  Plan& plan_;
  std::vector<Storage> storages_;
  std::vector<int> storage_of_;                     // per slot
  std::vector<std::pair<int, size_t>> workspaces_;  // step, bytes
};

}  // namespace inferd::engine
