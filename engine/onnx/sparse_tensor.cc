// SparseTensorProto in its two index forms: linear [NNZ], or coordinates [NNZ, rank].
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/onnx/tensor_proto.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

// Row-major positions of the values in the dense tensor.
absl::StatusOr<std::vector<int64_t>> Positions(const Tensor& indices, const Shape& dense,
                                               int64_t elements, int64_t values) {
  if (indices.type() != ElementType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices are ", ElementTypeName(indices.type()), ", expected int64"));
  }
  const bool linear = indices.shape() == Shape{values};
  if (!linear && indices.shape() != Shape{values, dense.rank()}) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices have shape ", indices.shape().ToString(), ", expected [", values,
                     "] or [", values, ",", dense.rank(), "]"));
  }
  const int64_t* index = indices.data<int64_t>();
  std::vector<int64_t> positions(values);
  for (int64_t i = 0; i < values; ++i) {
    int64_t position = 0;
    bool inside = true;
    if (linear) {
      position = index[i];
      inside = position >= 0 && position < elements;
    } else {
      for (int axis = 0; axis < dense.rank(); ++axis) {
        const int64_t coordinate = index[i * dense.rank() + axis];
        inside = inside && coordinate >= 0 && coordinate < dense[axis];
        if (inside) position = position * dense[axis] + coordinate;
      }
    }
    if (!inside) {
      return absl::InvalidArgumentError(
          absl::StrCat("index of value ", i, " is outside the shape ", dense.ToString()));
    }
    positions[i] = position;
  }
  return positions;
}

absl::StatusOr<Tensor> Scatter(const Tensor& values, const Tensor& indices, const Shape& shape,
                               int64_t* budget) {
  if (values.shape().rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("values have shape ", values.shape().ToString(), ", expected one dimension"));
  }
  ASSIGN_OR_RETURN(const int64_t elements, CountElements(shape));
  const int64_t element_bits = ElementBits(values.type());
  if (elements > *budget * 8 / element_bits) {
    return absl::InvalidArgumentError(absl::StrCat("the dense form of shape ", shape.ToString(),
                                                   " takes more than the ", *budget,
                                                   " bytes left for sparse tensors"));
  }
  *budget -= elements * element_bits / 8;
  ASSIGN_OR_RETURN(const std::vector<int64_t> positions,
                   Positions(indices, shape, elements, values.shape()[0]));
  ASSIGN_OR_RETURN(Tensor dense, Tensor::Allocate(values.type(), shape));
  if (values.type() == ElementType::kString) {
    for (size_t i = 0; i < positions.size(); ++i) {
      dense.mutable_data<std::string>()[positions[i]] = values.data<std::string>()[i];
    }
    return dense;
  }
  auto* out = static_cast<uint8_t*>(dense.view().data);
  const auto* in = static_cast<const uint8_t*>(values.view().data);
  std::memset(out, 0, static_cast<size_t>(dense.num_bytes()));
  const int bits = ElementBits(values.type());
  for (size_t i = 0; i < positions.size(); ++i) {
    if (bits >= 8) {
      std::memcpy(out + positions[i] * (bits / 8), in + i * (bits / 8), bits / 8);
      continue;
    }
    const int per_byte = 8 / bits;
    const int mask = (1 << bits) - 1;
    const int value = in[i / per_byte] >> (i % per_byte * bits) & mask;
    const int shift = static_cast<int>(positions[i] % per_byte) * bits;
    uint8_t& byte = out[positions[i] / per_byte];
    byte = static_cast<uint8_t>((byte & ~(mask << shift)) | value << shift);
  }
  return dense;
}

}  // namespace

absl::StatusOr<Tensor> DenseFromSparseProto(const onnx::SparseTensorProto& proto,
                                            ExternalDataReader* external, int64_t* budget) {
  ASSIGN_OR_RETURN(const Tensor values, TensorFromProto(proto.values(), external));
  ASSIGN_OR_RETURN(const Tensor indices, TensorFromProto(proto.indices(), external));
  Shape shape;
  for (int64_t d : proto.dims()) shape.push_back(d);
  absl::StatusOr<Tensor> dense = Scatter(values, indices, shape, budget);
  if (!dense.ok()) {
    return absl::Status(
        dense.status().code(),
        absl::StrCat("sparse tensor \"", proto.values().name(), "\": ", dense.status().message()));
  }
  return dense;
}

}  // namespace inferd::engine
