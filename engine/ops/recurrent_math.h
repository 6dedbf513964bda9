// The arithmetic of recurrent layers: inner products of many rows with many rows, and the two
// activation functions nearly all of them use. For float there is a variant per instruction set,
// chosen once per process; results do not depend on how rows and columns are split into calls.
#pragma once

#include <cstdint>

namespace inferd::engine {

// out[i][j] += a[i] . w[j] for i in [0, rows) and j in [first, last). Row j of w, `depth`
// long as all of a's rows are, begins at w + j * depth.
void AddProducts(const float* const* a, float* const* out, int64_t rows, const float* w,
                 int64_t depth, int64_t first, int64_t last);
void AddProducts(const double* const* a, double* const* out, int64_t rows, const double* w,
                 int64_t depth, int64_t first, int64_t last);

void SigmoidInPlace(float* values, int64_t count);
void SigmoidInPlace(double* values, int64_t count);
void TanhInPlace(float* values, int64_t count);
void TanhInPlace(double* values, int64_t count);

}  // namespace inferd::engine
