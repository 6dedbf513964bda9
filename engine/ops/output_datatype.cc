#include "engine/ops/output_datatype.h"

#include "absl/strings/str_cat.h"

namespace inferd::engine {

absl::StatusOr<ElementType> OutputDatatype(const Attributes& attributes) {
  const int64_t code =
      attributes.GetInt("output_datatype", static_cast<int64_t>(ElementType::kFloat32));
  const std::optional<ElementType> type = code >= 0 && code <= INT32_MAX
                                              ? ElementTypeFromOnnx(static_cast<int32_t>(code))
                                              : std::nullopt;
  if (type.has_value() && type_sets::kNumeric.contains(*type)) return *type;
  return absl::InvalidArgumentError(absl::StrCat("attribute output_datatype is ", code,
                                                 ", expected the number of one of ",
                                                 type_sets::kNumeric.ToString()));
}

}  // namespace inferd::engine
