#include "engine/ops/ml/class_labels.h"

#include "absl/strings/str_cat.h"

namespace inferd::engine {

void ClassLabels::Write(int64_t index, int64_t row, const TensorView& labels) const {
  if (uses_strings()) {
    labels.as<std::string>()[row] = index < size() ? strings[index] : absl::StrCat(index);
  } else {
    labels.as<int64_t>()[row] = index < size() ? integers[index] : index;
  }
}

absl::StatusOr<ClassLabels> ReadClassLabels(const Attributes& attributes, const char* strings_name,
                                            const char* integers_name) {
  ClassLabels labels{attributes.GetStrings(strings_name), attributes.GetInts(integers_name)};
  if (labels.strings.empty() == labels.integers.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("attributes ", strings_name, " and ", integers_name,
                     labels.strings.empty() ? " are both empty, expected one"
                                            : " are both given, expected one"));
  }
  return labels;
}

}  // namespace inferd::engine
