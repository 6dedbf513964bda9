#include "engine/onnx/type_proto.h"

#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

// More than any memory holds, and small enough that shape functions can add to it.
constexpr int64_t kMaxDim = int64_t{1} << 48;

absl::StatusOr<ElementType> ElementFromCode(int32_t code) {
  const std::optional<ElementType> type = ElementTypeFromOnnx(code);
  if (!type.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("element type code ", code, " is not known"));
  }
  return *type;
}

absl::StatusOr<SymbolicShape> ShapeFromProto(const onnx::TensorShapeProto& proto) {
  std::vector<Dim> dims;
  dims.reserve(proto.dim_size());
  for (const auto& d : proto.dim()) {
    if (d.has_dim_value()) {
      if (d.dim_value() < -1 || d.dim_value() > kMaxDim) {
        return absl::InvalidArgumentError(absl::StrCat("dimension ", dims.size(), " is ",
                                                       d.dim_value(), ", which no tensor has"));
      }
      dims.push_back(d.dim_value() < 0 ? Dim::Unknown() : Dim(d.dim_value()));
    } else if (d.has_dim_param() && !d.dim_param().empty()) {
      dims.push_back(Dim::Symbol(d.dim_param()));
    } else {
      dims.push_back(Dim::Unknown());
    }
  }
  return SymbolicShape(std::move(dims));
}

absl::StatusOr<ValueType> Wrapping(ValueType::Kind kind, const onnx::TypeProto& inner) {
  ASSIGN_OR_RETURN(ValueType type, TypeFromProto(inner));
  ValueType wrapped;
  wrapped.kind = kind;
  wrapped.inner = std::make_shared<const ValueType>(std::move(type));
  return wrapped;
}

}  // namespace

absl::StatusOr<ValueType> TypeFromProto(const onnx::TypeProto& proto) {
  switch (proto.value_case()) {
    case onnx::TypeProto::kTensorType: {
      ASSIGN_OR_RETURN(const ElementType element, ElementFromCode(proto.tensor_type().elem_type()));
      if (!proto.tensor_type().has_shape()) return ValueType::TensorOf(element);
      ASSIGN_OR_RETURN(SymbolicShape shape, ShapeFromProto(proto.tensor_type().shape()));
      return ValueType::TensorOf(element, std::move(shape));
    }
    case onnx::TypeProto::kSequenceType:
      return Wrapping(ValueType::Kind::kSequence, proto.sequence_type().elem_type());
    case onnx::TypeProto::kOptionalType:
      return Wrapping(ValueType::Kind::kOptional, proto.optional_type().elem_type());
    case onnx::TypeProto::kMapType: {
      ASSIGN_OR_RETURN(ValueType type,
                       Wrapping(ValueType::Kind::kMap, proto.map_type().value_type()));
      ASSIGN_OR_RETURN(type.element, ElementFromCode(proto.map_type().key_type()));
      return type;
    }
    case onnx::TypeProto::VALUE_NOT_SET:
      return ValueType{};
    default:
      return absl::InvalidArgumentError(
          "sparse and opaque types are not supported; supported: tensor, sequence, optional, map");
  }
}

}  // namespace inferd::engine
