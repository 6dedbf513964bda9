// Reads what the installed onnx.proto does not know yet but newer writers use, out of the unknown
// fields that protobuf keeps, and the few conventions of the format that every reader needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onnx {
class AttributeProto;
class FunctionProto;
class NodeProto;
}  // namespace onnx

namespace inferd::engine {

// "ai.onnx" and "" are the same domain; "" is the canonical spelling.
absl::string_view CanonicalDomain(absl::string_view domain);
// For messages: "ai.onnx" for "".
absl::string_view DomainForMessages(absl::string_view domain);

// NodeProto.overload (field 8) and FunctionProto.overload (field 13); "" where absent.
std::string OverloadOf(const onnx::NodeProto& node);
std::string OverloadOf(const onnx::FunctionProto& function);
// FunctionProto.attribute_proto (field 11): attributes that have a default.
std::vector<onnx::AttributeProto> DefaultAttributesOf(const onnx::FunctionProto& function);

// AttributeProto::AttributeType. Files of IR version 1 leave it unset: then the populated field
// decides.
int KindOf(const onnx::AttributeProto& attribute);

}  // namespace inferd::engine
