// How far a computed tensor is from the expected one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/tensor/tensor_comparison.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

struct ErrorMeasure {
  int64_t elements = 0;
  int64_t differing = 0;  // elements that are not equal
  // Over all elements; infinite where one side is not finite and the other differs.
  double max_absolute = 0;
  double max_relative = 0;  // |got - want| / |want|, over elements that want other than 0
  // Floating-point numbers representable between the two, for element types where that counts.
  std::optional<uint64_t> max_ulps;
  // Empty where the tensors are equal within the tolerance; otherwise a sentence, as of
  // CompareTensors.
  std::string divergence;

  // "max abs 1.2e-07, max rel 3e-06, 2 ulps".
  std::string ToString() const;
};

ErrorMeasure MeasureError(const TensorView& got, const TensorView& want,
                          const Tolerance& tolerance);

}  // namespace inferd::engine
