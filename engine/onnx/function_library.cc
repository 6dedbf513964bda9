#include "engine/onnx/function_library.h"

#include "absl/strings/str_cat.h"
#include "engine/onnx/proto_access.h"
#include "engine/status_macros.h"
#include "onnx/onnx_pb.h"

namespace inferd::engine {
namespace {

std::string Key(absl::string_view domain, absl::string_view name, absl::string_view overload) {
  return absl::StrCat(CanonicalDomain(domain), "::", name, "::", overload);
}

}  // namespace

absl::Status ReadOpsetImports(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports,
    OpsetImports* opsets) {
  OpsetImports found;
  for (const auto& import : imports) {
    if (import.version() < 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "opset import of domain ", DomainForMessages(CanonicalDomain(import.domain())),
          " has version ", import.version()));
    }
    int64_t& version = found[std::string(CanonicalDomain(import.domain()))];
    version = std::max(version, import.version());
  }
  for (auto& [domain, version] : found) (*opsets)[domain] = version;
  return absl::OkStatus();
}

FunctionLibrary::~FunctionLibrary() = default;

absl::Status FunctionLibrary::Load(const onnx::ModelProto& model,
                                   const OpsetImports& model_opsets) {
  for (const auto& proto : model.functions()) {
    Function function;
    function.proto = &proto;
    const absl::string_view domain = CanonicalDomain(proto.domain());
    function.display_name =
        domain.empty() ? proto.name() : absl::StrCat(domain, "::", proto.name());
    function.opsets = model_opsets;
    if (absl::Status status = ReadOpsetImports(proto.opset_import(), &function.opsets);
        !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("function ", function.display_name, ": ", status.message()));
    }
    function.defaults = DefaultAttributesOf(proto);
    std::string name = function.display_name;
    if (!functions_.emplace(Key(domain, proto.name(), OverloadOf(proto)), std::move(function))
             .second) {
      return absl::InvalidArgumentError(absl::StrCat("function ", name, " is defined twice"));
    }
  }
  return absl::OkStatus();
}

const Function* FunctionLibrary::Find(const onnx::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  auto it = functions_.find(Key(node.domain(), node.op_type(), OverloadOf(node)));
  return it == functions_.end() ? nullptr : &it->second;
}

}  // namespace inferd::engine
