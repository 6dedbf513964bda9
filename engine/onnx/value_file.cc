#include "engine/onnx/value_file.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "engine/onnx/tensor_file.h"
#include "engine/onnx/tensor_proto.h"
#include "engine/status_macros.h"
#include "engine/tensor/composite.h"
#include "engine/whole_file.h"
#include "onnx/onnx-data_pb.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

absl::StatusOr<Tensor> FromSequence(onnx::SequenceProto& proto);

absl::StatusOr<Tensor> FromMap(const onnx::MapProto& proto) {
  Composite map{.kind = Composite::Kind::kMap};
  Tensor keys;
  if (proto.string_keys_size() > 0) {
    const std::vector<std::string> texts(proto.string_keys().begin(), proto.string_keys().end());
    keys = Tensor::FromValues<std::string>({proto.string_keys_size()}, texts);
  } else {
    const std::vector<int64_t> numbers(proto.keys().begin(), proto.keys().end());
    keys = Tensor::Vector(numbers);
  }
  onnx::SequenceProto values = proto.values();
  ASSIGN_OR_RETURN(const Tensor sequence, FromSequence(values));
  const std::vector<Tensor>& items = CompositeOf(sequence.view()).items;
  if (static_cast<int64_t>(items.size()) != keys.num_elements()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a map has ", keys.num_elements(), " keys and ", items.size(), " values"));
  }
  // Each value is a scalar or a tensor of its own; ours are one tensor.
  if (items.empty()) {
    ASSIGN_OR_RETURN(Tensor none, Tensor::Allocate(ElementType::kFloat32, {0}));
    map.items = {std::move(keys), std::move(none)};
    return MakeComposite(std::move(map));
  }
  const ElementType type = items[0].type();
  ASSIGN_OR_RETURN(Tensor values_tensor,
                   Tensor::Allocate(type, {static_cast<int64_t>(items.size())}));
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].type() != type || items[i].num_elements() != 1 || ElementBits(type) % 8 != 0 ||
        type == ElementType::kString || type == ElementType::kComposite) {
      return absl::UnimplementedError("maps to anything but numbers are not read");
    }
    std::copy_n(static_cast<const char*>(items[i].view().data), items[i].num_bytes(),
                static_cast<char*>(values_tensor.view().data) +
                    static_cast<int64_t>(i) * items[i].num_bytes());
  }
  map.items = {std::move(keys), std::move(values_tensor)};
  return MakeComposite(std::move(map));
}

absl::StatusOr<Tensor> FromOptional(onnx::OptionalProto& proto) {
  Composite optional{.kind = Composite::Kind::kOptional};
  absl::StatusOr<Tensor> value;
  if (proto.has_tensor_value()) {
    value = TakeTensorFromProto(*proto.mutable_tensor_value(), nullptr);
  } else if (proto.has_sequence_value()) {
    value = FromSequence(*proto.mutable_sequence_value());
  } else if (proto.has_map_value()) {
    value = FromMap(proto.map_value());
  } else if (proto.has_optional_value()) {
    value = FromOptional(*proto.mutable_optional_value());
  } else {
    return MakeComposite(std::move(optional));
  }
  RETURN_IF_ERROR(value.status());
  optional.items.push_back(*std::move(value));
  return MakeComposite(std::move(optional));
}

absl::StatusOr<Tensor> FromSequence(onnx::SequenceProto& proto) {
  Composite sequence;
  for (auto& tensor : *proto.mutable_tensor_values()) {
    ASSIGN_OR_RETURN(Tensor item, TakeTensorFromProto(tensor, nullptr));
    sequence.items.push_back(std::move(item));
  }
  for (auto& inner : *proto.mutable_sequence_values()) {
    ASSIGN_OR_RETURN(Tensor item, FromSequence(inner));
    sequence.items.push_back(std::move(item));
  }
  for (const auto& map : proto.map_values()) {
    ASSIGN_OR_RETURN(Tensor item, FromMap(map));
    sequence.items.push_back(std::move(item));
  }
  for (auto& optional : *proto.mutable_optional_values()) {
    ASSIGN_OR_RETURN(Tensor item, FromOptional(optional));
    sequence.items.push_back(std::move(item));
  }
  return MakeComposite(std::move(sequence));
}

// Fields of another message end up as unknown ones.
template <typename Proto>
absl::Status ParseWhole(const std::string& bytes, absl::string_view what, Proto* proto) {
  if (proto->ParseFromString(bytes) && proto->unknown_fields().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("not a well-formed ", what));
}

absl::StatusOr<Tensor> ParseComposite(const std::string& bytes, const ValueType& type,
                                      std::string* name) {
  if (type.is_sequence()) {
    onnx::SequenceProto proto;
    RETURN_IF_ERROR(ParseWhole(bytes, "SequenceProto", &proto));
    *name = proto.name();
    return FromSequence(proto);
  }
  if (type.kind == ValueType::Kind::kMap) {
    onnx::MapProto proto;
    RETURN_IF_ERROR(ParseWhole(bytes, "MapProto", &proto));
    *name = proto.name();
    return FromMap(proto);
  }
  onnx::OptionalProto proto;
  if (absl::Status status = ParseWhole(bytes, "OptionalProto", &proto);
      status.ok() && proto.elem_type() >= 0 && proto.elem_type() <= 5) {
    *name = proto.name();
    return FromOptional(proto);
  }
  // The suite writes a given optional as its value.
  Composite optional{.kind = Composite::Kind::kOptional};
  absl::StatusOr<Tensor> value;
  if (type.inner != nullptr && !type.inner->is_tensor()) {
    value = ParseComposite(bytes, *type.inner, name);
  } else {
    value = ParseTensorProto(bytes, name);
  }
  RETURN_IF_ERROR(value.status());
  optional.items.push_back(*std::move(value));
  return MakeComposite(std::move(optional));
}

void ToMap(const Composite& map, onnx::MapProto* proto) {
  const Tensor& keys = map.keys();
  if (keys.type() == ElementType::kString) {
    proto->set_key_type(onnx::TensorProto::STRING);
    for (const std::string& key : keys.values<std::string>()) proto->add_string_keys(key);
  } else {
    proto->set_key_type(static_cast<int32_t>(keys.type()));
    const absl::StatusOr<std::vector<int64_t>> numbers = ToInt64Vector(keys.view());
    if (numbers.ok()) {
      for (int64_t key : *numbers) proto->add_keys(key);
    }
  }
  onnx::SequenceProto* values = proto->mutable_values();
  values->set_elem_type(onnx::SequenceProto::TENSOR);
  const int64_t bytes = ElementBytes(map.values().type(), 1);
  for (int64_t i = 0; i < map.values().num_elements(); ++i) {
    onnx::TensorProto* value = values->add_tensor_values();
    value->set_data_type(static_cast<int32_t>(map.values().type()));
    if (map.values().type() == ElementType::kString) {
      value->add_string_data(map.values().data<std::string>()[i]);
      continue;
    }
    value->set_raw_data(static_cast<const char*>(map.values().view().data) + i * bytes,
                        static_cast<size_t>(bytes));
  }
}

void ToSequence(const Composite& composite, onnx::SequenceProto* proto) {
  for (const Tensor& item : composite.items) {
    if (item.type() != ElementType::kComposite) {
      proto->set_elem_type(onnx::SequenceProto::TENSOR);
      proto->add_tensor_values()->ParseFromString(SerializeTensorProto(item.view(), ""));
      continue;
    }
    const Composite& inner = CompositeOf(item.view());
    if (inner.kind == Composite::Kind::kMap) {
      proto->set_elem_type(onnx::SequenceProto::MAP);
      ToMap(inner, proto->add_map_values());
    } else {
      proto->set_elem_type(onnx::SequenceProto::SEQUENCE);
      ToSequence(inner, proto->add_sequence_values());
    }
  }
}

}  // namespace

absl::StatusOr<Tensor> ReadValueFile(const std::string& path, const ValueType& type,
                                     std::string* name) {
  std::string ignored;
  if (name == nullptr) name = &ignored;
  if (type.is_tensor()) return ReadTensorFile(path, name);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  absl::StatusOr<Tensor> value = ParseComposite(bytes, type, name);
  if (value.ok()) return value;
  return absl::Status(value.status().code(), absl::StrCat(path, ": ", value.status().message()));
}

std::string SerializeValue(const TensorView& value, absl::string_view name) {
  if (value.type != ElementType::kComposite) return SerializeTensorProto(value, name);
  const Composite& composite = CompositeOf(value);
  switch (composite.kind) {
    case Composite::Kind::kSequence: {
      onnx::SequenceProto proto;
      proto.set_name(std::string(name));
      proto.set_elem_type(onnx::SequenceProto::TENSOR);
      ToSequence(composite, &proto);
      return proto.SerializeAsString();
    }
    case Composite::Kind::kMap: {
      onnx::MapProto proto;
      proto.set_name(std::string(name));
      ToMap(composite, &proto);
      return proto.SerializeAsString();
    }
    case Composite::Kind::kOptional: {
      onnx::OptionalProto proto;
      proto.set_name(std::string(name));
      if (!composite.has_value()) return proto.SerializeAsString();
      const TensorView& inner = composite.items[0].view();
      if (inner.type != ElementType::kComposite) {
        proto.set_elem_type(onnx::OptionalProto::TENSOR);
        proto.mutable_tensor_value()->ParseFromString(SerializeTensorProto(inner, ""));
      } else {
        proto.set_elem_type(onnx::OptionalProto::SEQUENCE);
        ToSequence(CompositeOf(inner), proto.mutable_sequence_value());
      }
      return proto.SerializeAsString();
    }
  }
  return "";
}

}  // namespace inferd::engine
