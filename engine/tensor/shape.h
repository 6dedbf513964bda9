// A concrete shape: every dimension is known and not negative.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace inferd::engine {

class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(absl::Span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t operator[](int i) const { return dims_[i]; }
  int64_t& operator[](int i) { return dims_[i]; }
  void push_back(int64_t d) { dims_.push_back(d); }
  absl::Span<const int64_t> dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  // Product of the dimensions in [first, last); 1 when empty. Shapes that enter the engine are
  // checked with CheckedNumElements once, so the product does not overflow here.
  int64_t Product(int first, int last) const {
    int64_t n = 1;
    for (int i = first; i < last; ++i) n *= dims_[i];
    return n;
  }
  int64_t NumElements() const { return Product(0, rank()); }

  // INVALID_ARGUMENT for a negative dimension or a count that overflows int64.
  absl::StatusOr<int64_t> CheckedNumElements() const;

  // "[1,3,224,224]"; a scalar is "[]".
  std::string ToString() const;

  bool operator==(const Shape&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Shape& s) {
    return H::combine(std::move(h), s.dims());
  }

 private:
  absl::InlinedVector<int64_t, 6> dims_;
};

// Row-major strides in elements; same rank as `shape`.
absl::InlinedVector<int64_t, 6> RowMajorStrides(const Shape& shape);

// NumPy broadcast of two shapes (https://github.com/onnx/onnx/blob/main/docs/Broadcasting.md);
// INVALID_ARGUMENT naming both where they do not broadcast.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

// Maps axis in [-rank, rank) to [0, rank); INVALID_ARGUMENT otherwise.
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

}  // namespace inferd::engine
