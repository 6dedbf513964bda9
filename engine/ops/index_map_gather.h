// Data movement where each axis has its own table of source positions: padding and
// nearest-neighbour resizing.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/element_copy.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

// Output element (i0, i1, ...) is input element (maps[0][i0], maps[1][i1], ...), or the fill
// element where one of them is -1. maps[k] has one entry per output position of axis k, each
// below x[k].
class IndexMapGather {
 public:
  // A tensor of rank 0 is one element.
  IndexMapGather(ElementType type, const Shape& x, std::vector<std::vector<int64_t>> maps);
  // `fill` is one element.
  void Run(const void* x, const void* fill, void* y) const;

 private:
  void RunAxis(size_t axis, int64_t from, int64_t to, const void* x, const void* fill,
               void* y) const;

  ElementType type_;
  ElementCopier copier_;
  std::vector<std::vector<int64_t>> maps_;  // scaled by the input's strides
  std::vector<int64_t> output_strides_;
  // The innermost axis as segments: consecutive sources, or fill.
  struct Segment {
    int64_t from;  // -1: fill
    int64_t to;
    int64_t count;
  };
  std::vector<Segment> segments_;
};

}  // namespace inferd::engine
