#include "engine/onnx/opset/node_adapter.h"

#include "absl/strings/str_cat.h"

namespace inferd::engine {

void NodeAdapter::SetInput(size_t i, Value* value) {
  if (i >= inputs.size()) inputs.resize(i + 1, nullptr);
  inputs[i] = value;
}

absl::Status NodeAdapter::RequireInput(size_t i, absl::string_view name) const {
  if (input(i) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", i, " (", name, ") is missing"));
}

Value* NodeAdapter::Emit(absl::string_view op_name, std::vector<Value*> op_inputs,
                         Attributes attrs) {
  return sink_.AddNode("", op_name, std::move(op_inputs), std::move(attrs));
}

Value* NodeAdapter::Constant(absl::string_view role, Tensor tensor) {
  return sink_.AddConstant(role, std::move(tensor));
}

Value* NodeAdapter::Ints(absl::string_view role, const std::vector<int64_t>& values) {
  return Constant(role, Tensor::Vector(values));
}

Value* NodeAdapter::ScalarLike(absl::string_view role, float value, Value* like) {
  switch (ElementOf(like)) {
    case ElementType::kFloat32:
      return Constant(role, Tensor::Scalar<float>(value));
    case ElementType::kFloat64:
      return Constant(role, Tensor::Scalar<double>(value));
    case ElementType::kFloat16:
      return Constant(role, Tensor::Scalar<Float16>(Float16(value)));
    case ElementType::kBfloat16:
      return Constant(role, Tensor::Scalar<BFloat16>(BFloat16(value)));
    default:
      return Emit("CastLike", {Constant(role, Tensor::Scalar<float>(value)), like});
  }
}

void NodeAdapter::Become(absl::string_view op_name, std::vector<Value*> new_inputs,
                         Attributes attrs) {
  domain.clear();
  op = std::string(op_name);
  inputs = std::move(new_inputs);
  attributes = std::move(attrs);
}

std::optional<int> NodeAdapter::RankOf(const Value* value) {
  if (value->is_constant()) return value->constant().shape().rank();
  const ValueType& type = value->type();
  if (!type.is_tensor() || !type.shape.has_rank()) return std::nullopt;
  return type.shape.rank();
}

const Tensor* NodeAdapter::ConstantOf(const Value* value) {
  return value != nullptr && value->is_constant() ? &value->constant() : nullptr;
}

}  // namespace inferd::engine
