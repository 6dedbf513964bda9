// Small ONNX models for tests, built with ONNX's own message classes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace inferd::repository {

// -1 is a free dimension. The symbol of a free first dimension is "n".
using Dims = std::vector<int64_t>;

// y = x + `constant`, float, of the given shape. Serialized.
std::string AddModel(const Dims& dims, float constant);
// y = CumSum(x, axis 0): rows of a batch influence each other.
std::string CumSumModel(const Dims& dims);
// y = x quantized to steps of 1/8 and back.
std::string QuantizingModel(const Dims& dims);
// y = random numbers in the shape of x, others at every run.
std::string RandomModel(const Dims& dims);
// y = a sequence of maps from the classes 1, 2, ... to the columns of x, [rows, classes].
std::string MapsModel(int64_t classes);
// An operator nobody has.
std::string UnsupportedModel();

}  // namespace inferd::repository
