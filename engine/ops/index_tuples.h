// Index tuples of GatherND and ScatterND: the last axis of the index tensor holds the leading
// coordinates of a slice of the data.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

class IndexTuples {
 public:
  // Tuples address the axes of `data` after the first `batch_dims`, which both tensors share.
  // INVALID_ARGUMENT where the shapes do not fit.
  static absl::StatusOr<IndexTuples> Make(const Shape& data, const Shape& indices,
                                          int64_t batch_dims);

  int64_t count() const { return count_; }           // tuples in all
  int64_t slice_elements() const { return slice_; }  // elements each one addresses
  int tuple_size() const { return static_cast<int>(sizes_.size()); }
  // Sets *offset to the first element of the slice tuple i addresses. INVALID_ARGUMENT for an
  // index out of range.
  absl::Status Locate(const TensorView& indices, int64_t i, int64_t* offset) const;

 private:
  int64_t count_ = 0;
  int64_t per_batch_ = 1;       // tuples in one batch entry
  int64_t batch_elements_ = 1;  // elements of one batch entry of the data
  int64_t slice_ = 1;
  absl::InlinedVector<int64_t, 6> sizes_;  // of the addressed axes
  absl::InlinedVector<int64_t, 6> strides_;
};

}  // namespace inferd::engine
