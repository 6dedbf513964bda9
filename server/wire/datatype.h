// The one place where the protocol's datatype names meet the engine's element types.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "engine/tensor/element_type.h"

namespace inferd::server {

// "FP32", "BYTES", ...; empty for a type the protocol has no name for (complex, float8, 4-bit).
absl::string_view DatatypeName(engine::ElementType type);
// BYTES is ElementType::kString. nullopt for an unknown name; names are case-sensitive.
std::optional<engine::ElementType> DatatypeFromName(absl::string_view name);
// All names, comma-separated, for messages.
absl::string_view DatatypeNames();

}  // namespace inferd::server
