#include "engine/ops/matmul_shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

// Strides of the batch dimensions of `side` aligned to the end of `batch`.
std::vector<int64_t> BatchStrides(const Shape& side, const Shape& batch, int64_t matrix) {
  std::vector<int64_t> strides(batch.rank(), 0);
  int64_t stride = matrix;
  for (int i = side.rank() - 1; i >= 0; --i) {
    const int axis = batch.rank() - side.rank() + i;
    if (side[i] != 1) strides[axis] = stride;
    stride *= side[i];
  }
  return strides;
}

}  // namespace

bool MatMulShape::shared_b() const {
  return std::all_of(b_strides.begin(), b_strides.end(), [](int64_t s) { return s == 0; });
}

int64_t MatMulShape::Offset(int64_t i, const std::vector<int64_t>& strides) const {
  int64_t offset = 0;
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    offset += i % batch[axis] * strides[axis];
    i /= batch[axis];
  }
  return offset;
}

absl::StatusOr<MatMulShape> ResolveMatMul(const Shape& a, const Shape& b) {
  const auto mismatch = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("cannot multiply A of shape ", a.ToString(),
                                                   " with B of shape ", b.ToString(), ": ", why));
  };
  if (a.rank() == 0 || b.rank() == 0) return mismatch("a scalar is not a matrix");
  MatMulShape m;
  m.rows = a.rank() == 1 ? 1 : a[a.rank() - 2];
  m.inner = a[a.rank() - 1];
  m.columns = b.rank() == 1 ? 1 : b[b.rank() - 1];
  if (m.inner != b[std::max(0, b.rank() - 2)]) return mismatch("inner dimensions differ");
  const Shape a_batch(a.dims().subspan(0, std::max(0, a.rank() - 2)));
  const Shape b_batch(b.dims().subspan(0, std::max(0, b.rank() - 2)));
  absl::StatusOr<Shape> batch = BroadcastShapes(a_batch, b_batch);
  if (!batch.ok()) return mismatch("batch dimensions do not broadcast");
  m.batch = *std::move(batch);
  m.a_strides = BatchStrides(a_batch, m.batch, m.rows * m.inner);
  m.b_strides = BatchStrides(b_batch, m.batch, m.inner * m.columns);
  m.output = m.batch;
  if (a.rank() > 1) m.output.push_back(m.rows);
  if (b.rank() > 1) m.output.push_back(m.columns);
  RETURN_IF_ERROR(m.output.CheckedNumElements().status());
  return m;
}

}  // namespace inferd::engine
