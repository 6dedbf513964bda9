// Shape specialization: from what is known about a run's inputs to the nodes that can be planned
// now, with every shape concrete, and to what has to be computed before the rest can be.
//
// Two steps of the design meet here. Values that are known while planning (constants, shapes of
// concrete values and what is computed from them) are folded away by their reference kernels.
// Where a shape depends on data, the graph is cut into segments: a segment holds every node whose
// shapes follow from what is known when it starts.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "engine/compile/graph_index.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Values of at most this many bytes are folded while a plan is made.
inline constexpr int64_t kMaxFoldBytes = 64 << 10;
// Contents of at most this many elements of a shape-determining graph input are part of the key
// of the first plan; larger ones cost a segment.
inline constexpr int64_t kMaxKeyedElements = 64;

// What is known about one value.
struct ValueState {
  bool available = false;  // its element type and shape are known and, at run time, its data
  ElementType type = ElementType::kUndefined;
  Shape shape;
  // Its contents where they are the same for every run of the plan; else undefined.
  Tensor known;
};

// What is known about a graph at the border of two segments. Indices are those of GraphIndex.
struct SegmentState {
  std::vector<ValueState> values;
  std::vector<bool> node_done;
  std::vector<bool> output_done;  // graph outputs already produced

  // Before the first segment: constants are known, inputs are not available yet.
  static SegmentState Initial(const GraphIndex& index);
};

// One segment.
struct Specialization {
  // What will be known once the segment has run.
  SegmentState end;
  // Nodes to run, in order: those not folded and not dead.
  std::vector<int> nodes;
  // Nodes evaluated while planning, in order; their results are in end.values[].known.
  std::vector<int> folded;
  // Available values whose contents the next segment needs to know.
  std::vector<int> wanted;
  // Outputs of nodes with dynamic_outputs: the next segment needs their shapes.
  std::vector<int> dynamic;
  // Values of this or an earlier segment which a later one reads. Constants excluded.
  std::vector<int> crossing;
  // Positions of the graph outputs this segment delivers.
  std::vector<int> outputs;
  // Nodes left for later segments, for reports.
  std::vector<int> later;
  bool finished() const { return later.empty(); }
};

struct SpecializeOptions {
  // Fold nodes whose inputs are known.
  bool fold = true;
};

// INVALID_ARGUMENT naming the node where shapes do not fit together; RESOURCE_EXHAUSTED for a
// tensor no machine can hold.
absl::StatusOr<Specialization> Specialize(const GraphIndex& index, SegmentState start,
                                          const SpecializeOptions& options = {});

}  // namespace inferd::engine
