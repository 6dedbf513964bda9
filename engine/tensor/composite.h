// Values that are no tensors: ONNX sequences, optionals and maps.
//
// A composite travels through the engine as a Tensor of element type kComposite, rank 0, whose one
// element is a Composite. So everything that holds, hands over or counts tensors carries composites
// as well, and only the operators that make or open one need to know about them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tensor/element_type.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

// Copies are shallow: tensors share their buffers. Never changed once others can see it.
struct Composite {
  enum class Kind : uint8_t { kSequence, kOptional, kMap };

  Kind kind = Kind::kSequence;
  // Sequence: the elements, in order. Optional: the value, or nothing. Map: two tensors of rank 1
  // and equal length, keys (an integer type or string) and values. Any of them may be composite.
  std::vector<Tensor> items = {};

  bool has_value() const { return !items.empty(); }  // optional
  const Tensor& keys() const { return items[0]; }    // map
  const Tensor& values() const { return items[1]; }  // map
};

template <>
constexpr ElementType TypeOf<Composite>() {
  return ElementType::kComposite;
}

// A tensor that holds `composite`.
Tensor MakeComposite(Composite composite);
// The composite of a view of type kComposite.
inline const Composite& CompositeOf(const TensorView& view) {
  return *static_cast<const Composite*>(view.data);
}

// "sequence", "optional", "map".
const char* CompositeKindName(Composite::Kind kind);

}  // namespace inferd::engine
