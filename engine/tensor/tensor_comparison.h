// Whether a computed tensor is the expected one.
#pragma once

#include <string>

#include "engine/tensor/tensor.h"

namespace inferd::engine {

struct Tolerance {
  double rtol = 1e-3;  // ONNX's backend tests use these two
  double atol = 1e-7;
};

// Empty when `got` equals `want`: same type and shape, |got - want| <= atol + rtol * |want| for
// every floating-point element, NaN equal to NaN, infinities equal to themselves, everything else
// exact; composites item by item. float16 and bfloat16 get at least a few units in their last
// place. Otherwise a sentence with the worst element.
std::string CompareTensors(const TensorView& got, const TensorView& want,
                           const Tolerance& tolerance);

// One element for people: "3.25", "-7", "true", "\"text\"".
std::string ElementToString(const TensorView& tensor, int64_t i);
// An element as a number; NaN for strings. Complex numbers give their real part.
double ElementAsDouble(const TensorView& tensor, int64_t i);

}  // namespace inferd::engine
