#include "engine/ops/index_tuples.h"

#include "absl/strings/str_cat.h"
#include "engine/ops/index_tensor.h"

namespace inferd::engine {

absl::StatusOr<IndexTuples> IndexTuples::Make(const Shape& data, const Shape& indices,
                                              int64_t batch_dims) {
  const auto fail = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("data of shape ", data.ToString(), " and indices of shape ",
                     indices.ToString(), " with ", batch_dims, " batch dimensions: ", why));
  };
  if (indices.rank() < 1 || data.rank() < 1) return fail("scalars have no axes to address");
  if (batch_dims < 0 || batch_dims >= indices.rank() || batch_dims >= data.rank()) {
    return fail("batch dimensions must leave an axis of both");
  }
  for (int i = 0; i < batch_dims; ++i) {
    if (data[i] != indices[i]) return fail("batch dimensions differ");
  }
  const int64_t size = indices[indices.rank() - 1];
  if (size > data.rank() - batch_dims) return fail("tuples are longer than the data has axes");
  IndexTuples t;
  const int batches = static_cast<int>(batch_dims);
  const int end = batches + static_cast<int>(size);
  t.count_ = indices.Product(0, indices.rank() - 1);
  t.per_batch_ = indices.Product(batches, indices.rank() - 1);
  t.batch_elements_ = data.Product(batches, data.rank());
  t.slice_ = data.Product(end, data.rank());
  const auto strides = RowMajorStrides(data);
  for (int i = batches; i < end; ++i) {
    t.sizes_.push_back(data[i]);
    t.strides_.push_back(strides[i]);
  }
  return t;
}

absl::Status IndexTuples::Locate(const TensorView& indices, int64_t i, int64_t* offset) const {
  *offset = i / per_batch_ * batch_elements_;
  for (int k = 0; k < tuple_size(); ++k) {
    const int64_t position = i * tuple_size() + k;
    int64_t index = IndexAt(indices, position);
    if (!NormalizeIndex(sizes_[k], &index)) {
      return IndexOutOfRange("indices", position, index, sizes_[k]);
    }
    *offset += index * strides_[k];
  }
  return absl::OkStatus();
}

}  // namespace inferd::engine
