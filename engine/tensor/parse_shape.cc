#include "engine/tensor/parse_shape.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/status_macros.h"

namespace inferd::engine {

absl::StatusOr<Shape> ParseShape(absl::string_view text) {
  Shape shape;
  if (text.empty() || text == "scalar") return shape;
  for (absl::string_view part : absl::StrSplit(text, absl::ByAnyChar("x,"))) {
    int64_t dim;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected a shape such as 1x3x224x224, found \"", text, "\""));
    }
    shape.push_back(dim);
  }
  RETURN_IF_ERROR(shape.CheckedNumElements().status());
  return shape;
}

}  // namespace inferd::engine
