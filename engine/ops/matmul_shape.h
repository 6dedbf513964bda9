// Geometry of MatMul: a batch of equal matrix products.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

// Product i multiplies the rows x inner matrix at a_offset(i) with the inner x columns matrix at
// b_offset(i), both row-major.
struct MatMulShape {
  int64_t rows = 1;
  int64_t inner = 1;
  int64_t columns = 1;
  Shape batch;   // of the output, broadcast from the batch dimensions of both sides
  Shape output;  // as NumPy's matmul: a vector operand adds no dimension
  // Elements between neighbours along each batch dimension; 0 where a side is repeated.
  std::vector<int64_t> a_strides;
  std::vector<int64_t> b_strides;

  int64_t batch_size() const { return batch.NumElements(); }
  int64_t a_offset(int64_t i) const { return Offset(i, a_strides); }
  int64_t b_offset(int64_t i) const { return Offset(i, b_strides); }
  // B is one matrix for the whole batch.
  bool shared_b() const;

 private:
  int64_t Offset(int64_t i, const std::vector<int64_t>& strides) const;
};

// INVALID_ARGUMENT naming both shapes where they do not multiply.
absl::StatusOr<MatMulShape> ResolveMatMul(const Shape& a, const Shape& b);

}  // namespace inferd::engine
