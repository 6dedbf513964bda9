// The two products of attention, over tiles of keys and of values. For float there is a variant
// per instruction set, chosen once per process.
#pragma once

#include <cstdint>

namespace inferd::engine {

// out[j] = query . keys[j] for j in [0, count); key j begins at keys + j * stride.
void KeyProducts(const float* query, const float* keys, int64_t stride, int64_t count, int64_t size,
                 float* out);
void KeyProducts(const double* query, const double* keys, int64_t stride, int64_t count,
                 int64_t size, double* out);

// sums[0, size) += sum over j of weights[j] * values[j * stride ...]. A value with no weight is
// not used: it may be infinite where a mask hides it.
void AddWeightedValues(const float* weights, const float* values, int64_t stride, int64_t count,
                       int64_t size, float* sums);
void AddWeightedValues(const double* weights, const double* values, int64_t stride, int64_t count,
                       int64_t size, double* sums);

}  // namespace inferd::engine
