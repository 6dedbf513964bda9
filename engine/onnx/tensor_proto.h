// TensorProto and SparseTensorProto -> Tensor.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "engine/tensor/tensor.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
}  // namespace onnx

namespace inferd::engine {

class ExternalDataReader;

// Every element type, from raw_data, the typed fields or external data (`external` null: an
// error). Data of the wrong size is INVALID_ARGUMENT naming the tensor, with the expected and the
// found size; nothing is allocated before that check.
absl::StatusOr<Tensor> TensorFromProto(const onnx::TensorProto& proto,
                                       ExternalDataReader* external);
// The same, but may take the proto's raw data over instead of copying it.
absl::StatusOr<Tensor> TakeTensorFromProto(onnx::TensorProto& proto, ExternalDataReader* external);

// The dense form of a sparse tensor. A few bytes can ask for any size, so `*budget` bounds it and
// is lowered by the bytes of the result.
absl::StatusOr<Tensor> DenseFromSparseProto(const onnx::SparseTensorProto& proto,
                                            ExternalDataReader* external, int64_t* budget);

// Dense bytes that all sparse tensors of one model may take together.
inline constexpr int64_t kDenseBytesBudget = int64_t{1} << 31;

// The element count. Even where one dimension is 0 the product of the others must fit in 63 bits,
// so that partial products never overflow later.
absl::StatusOr<int64_t> CountElements(const Shape& shape);

}  // namespace inferd::engine
