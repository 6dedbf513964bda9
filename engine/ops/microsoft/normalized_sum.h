// Layer and root-mean-square normalization of rows that are sums of several operands.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/tensor/float16.h"

namespace inferd::engine {

struct RowStatistics {
  double mean = 0;
  double inverse = 0;  // of the standard deviation, or of the root mean square
};

// y[i] = (value(i) - mean) / deviation * scale[i] + shift[i]; without centring the mean stays.
// `shift` may be null. `value` gives doubles and is called thrice for each element.
template <typename T, typename Value>
RowStatistics NormalizeRow(int64_t length, double epsilon, bool centred, Value value,
                           const T* scale, const T* shift, T* y) {
  RowStatistics statistics;
  const double count = static_cast<double>(length);
  if (centred) {
    for (int64_t i = 0; i < length; ++i) statistics.mean += value(i);
    statistics.mean /= count;
  }
  double square = 0;
  for (int64_t i = 0; i < length; ++i) {
    const double d = value(i) - statistics.mean;
    square += d * d;
  }
  statistics.inverse = 1 / std::sqrt(square / count + epsilon);
  for (int64_t i = 0; i < length; ++i) {
    const double normal = (value(i) - statistics.mean) * statistics.inverse;
    double out = normal * static_cast<double>(static_cast<float>(scale[i]));
    if (shift != nullptr) out += static_cast<double>(static_cast<float>(shift[i]));
    y[i] = static_cast<T>(static_cast<float>(out));
  }
  return statistics;
}

}  // namespace inferd::engine
