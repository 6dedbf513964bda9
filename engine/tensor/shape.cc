#include "engine/tensor/shape.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace inferd::engine {

absl::StatusOr<int64_t> Shape::CheckedNumElements() const {
  // The product of the dimensions that are not zero must fit too: strides and partial products
  // are taken of empty shapes as of others.
  int64_t count = 1;
  bool empty = false;
  for (int64_t d : dims_) {
    if (d < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ToString(), " has a negative dimension"));
    }
    if (d == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, d, &count)) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ToString(), " has more elements than fit in 63 bits"));
    }
  }
  return empty ? 0 : count;
}

std::string Shape::ToString() const { return absl::StrCat("[", absl::StrJoin(dims_, ","), "]"); }

absl::InlinedVector<int64_t, 6> RowMajorStrides(const Shape& shape) {
  absl::InlinedVector<int64_t, 6> strides(shape.rank());
  int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank());
    const int ib = i - (rank - b.rank());
    const int64_t da = ia < 0 ? 1 : a[ia];
    const int64_t db = ib < 0 ? 1 : b[ib];
    if (da != db && da != 1 && db != 1) {
      return absl::InvalidArgumentError(absl::StrCat("shapes ", a.ToString(), " and ", b.ToString(),
                                                     " do not broadcast: dimension ", da,
                                                     " against ", db));
    }
    result.push_back(da == 1 ? db : da);
  }
  return result;
}

absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is out of range for rank ",
                                                   rank, "; allowed are ", -rank, " to ",
                                                   rank - 1));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace inferd::engine
