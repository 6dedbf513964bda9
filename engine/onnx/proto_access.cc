#include "engine/onnx/proto_access.h"

#include <google/protobuf/unknown_field_set.h>

#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

constexpr int kNodeOverload = 8;
constexpr int kFunctionAttributeProto = 11;
constexpr int kFunctionOverload = 13;

// The length-delimited unknown fields with this number, in order.
template <typename Message>
std::vector<std::string> UnknownStrings(const Message& message, int number) {
  std::vector<std::string> found;
  const google::protobuf::UnknownFieldSet& fields = message.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() == number &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      found.push_back(field.length_delimited());
    }
  }
  return found;
}

}  // namespace

absl::string_view CanonicalDomain(absl::string_view domain) {
  return domain == "ai.onnx" ? absl::string_view() : domain;
}

absl::string_view DomainForMessages(absl::string_view domain) {
  return domain.empty() ? absl::string_view("ai.onnx") : domain;
}

std::string OverloadOf(const onnx::NodeProto& node) {
  std::vector<std::string> found = UnknownStrings(node, kNodeOverload);
  return found.empty() ? std::string() : std::move(found.back());
}

std::string OverloadOf(const onnx::FunctionProto& function) {
  std::vector<std::string> found = UnknownStrings(function, kFunctionOverload);
  return found.empty() ? std::string() : std::move(found.back());
}

std::vector<onnx::AttributeProto> DefaultAttributesOf(const onnx::FunctionProto& function) {
  std::vector<onnx::AttributeProto> attributes;
  for (const std::string& bytes : UnknownStrings(function, kFunctionAttributeProto)) {
    onnx::AttributeProto attribute;
    if (attribute.ParsePartialFromString(bytes)) attributes.push_back(std::move(attribute));
  }
  return attributes;
}

int KindOf(const onnx::AttributeProto& attribute) {
  using onnx::AttributeProto;
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.has_g()) return AttributeProto::GRAPH;
  if (attribute.has_tp()) return AttributeProto::TYPE_PROTO;
  if (attribute.has_sparse_tensor()) return AttributeProto::SPARSE_TENSOR;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  if (attribute.strings_size() > 0) return AttributeProto::STRINGS;
  if (attribute.tensors_size() > 0) return AttributeProto::TENSORS;
  if (attribute.graphs_size() > 0) return AttributeProto::GRAPHS;
  return AttributeProto::UNDEFINED;
}

}  // namespace inferd::engine
