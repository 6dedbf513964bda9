// What runs: one segment of a model for concrete shapes, immutable and shared by contexts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/compile/specialize.h"
#include "engine/kernel/kernel.h"
#include "engine/runtime/model.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Where the bytes behind a slot are.
enum class SlotHome : uint8_t {
  kArena,     // index: byte offset in the context's arena
  kInput,     // index: graph input; the caller's memory
  kConstant,  // the slot's view already points at it
  kBuffer,    // index: Plan::buffers; memory that outlives the segment
  kStrings,   // index: Plan::strings; string objects of the context
  kCarried,   // index: value id; computed by an earlier segment
  kDynamic,   // allocated or handed over by its kernel at run time
};

// One tensor of a plan: a value in one layout. Slots may share memory.
struct Slot {
  TensorView view;  // data is null unless home is kConstant
  SlotHome home = SlotHome::kArena;
  int64_t index = 0;
};

// A block of memory that outlives the segment: a graph output or a value a later segment reads.
struct ResultBuffer {
  ElementType type = ElementType::kUndefined;
  int64_t bytes = 0;
  int64_t elements = 0;  // of strings
};

// One kernel run or one copy.
struct Step {
  // Null: copies operand 0 to the output (both plain).
  std::unique_ptr<Kernel> kernel;
  const ExecutionProvider* provider = nullptr;  // whose device and stream it runs on
  const Node* node = nullptr;                   // only where it has bodies
  // Operands are Plan::operands[first_operand, ...): inputs, then outputs; -1 where absent.
  int first_operand = 0;
  int num_inputs = 0;
  int num_outputs = 0;
  int64_t workspace_offset = -1;  // in the arena; -1: none
  int report = -1;                // its entry in Plan::reports; -1 for copies
};

// A slot that becomes a graph output or a carried value when the segment has run.
struct Result {
  int slot = 0;
  int buffer = -1;  // in Plan::buffers; -1: dynamic, the buffer AllocateOutput made
  int output = -1;  // graph output position, or -1
  int value = -1;   // carried value id, or -1
};

struct Plan {
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    if (byte_counter != nullptr) *byte_counter -= held_bytes;
  }

  // Unique in the process: names this plan in the keys of its continuations.
  uint64_t id = 0;
  std::vector<Slot> slots;
  std::vector<int> operands;
  std::vector<Step> steps;
  std::vector<ResultBuffer> buffers;
  std::vector<int64_t> strings;  // number of string objects in each
  std::vector<Result> results;
  size_t arena_bytes = 0;

  // Slots by home, so that binding a run touches only what changes.
  std::vector<std::pair<int, int>> input_slots;    // slot, graph input
  std::vector<std::pair<int, int>> buffer_slots;   // slot, buffer
  std::vector<std::pair<int, int>> carried_slots;  // slot, value id

  // Null when nothing is left to do. Otherwise the next segment starts here, once the shapes of
  // `dynamic_values` and the contents of `wanted_values` are known.
  std::unique_ptr<const SegmentState> continuation;
  std::vector<int> wanted_values;
  std::vector<int> dynamic_values;
  bool has_dynamic_outputs = false;  // some slot is SlotHome::kDynamic

  // Constants made for this plan: folded values and constants in another layout.
  std::vector<Tensor> folded;
  std::vector<BufferRef> reordered;
  // For observers of eager models: folded values by id, in order.
  std::vector<std::pair<int, Tensor>> folded_values;
  // For the same: value id of each operand output, parallel to `operands`.
  std::vector<int> operand_values;

  std::vector<NodeReport> reports;

  // Bytes of constants this plan alone holds, and where they are counted.
  int64_t held_bytes = 0;
  std::shared_ptr<std::atomic<int64_t>> byte_counter;
};

}  // namespace inferd::engine
