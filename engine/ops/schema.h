// Short forms for writing operator schemas.
#pragma once

#include "absl/strings/string_view.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

inline FormalParameter RequiredParameter(absl::string_view name, absl::string_view type_variable,
                                         ElementTypeSet types) {
  return {name, type_variable, types, FormalParameter::Option::kRequired};
}
inline FormalParameter OptionalParameter(absl::string_view name, absl::string_view type_variable,
                                         ElementTypeSet types) {
  return {name, type_variable, types, FormalParameter::Option::kOptional};
}
inline FormalParameter VariadicParameter(absl::string_view name, absl::string_view type_variable,
                                         ElementTypeSet types) {
  return {name, type_variable, types, FormalParameter::Option::kVariadic};
}

// Any number of operands, none included.
inline FormalParameter RepeatedParameter(absl::string_view name, absl::string_view type_variable,
                                         ElementTypeSet types) {
  return {name, type_variable, types, FormalParameter::Option::kRepeated};
}

}  // namespace inferd::engine
