// Class labels of the classifiers of ai.onnx.ml: strings or integers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/tensor.h"

namespace inferd::engine {

struct ClassLabels {
  std::vector<std::string> strings;
  std::vector<int64_t> integers;

  bool uses_strings() const { return !strings.empty(); }
  ElementType type() const { return uses_strings() ? ElementType::kString : ElementType::kInt64; }
  int64_t size() const {
    return static_cast<int64_t>(uses_strings() ? strings.size() : integers.size());
  }
  // Writes the label of class `index` to element `row`; a class without label is its number.
  void Write(int64_t index, int64_t row, const TensorView& labels) const;
};

// From the attributes of these names. INVALID_ARGUMENT where both are given, or neither.
absl::StatusOr<ClassLabels> ReadClassLabels(const Attributes& attributes, const char* strings_name,
                                            const char* integers_name);

}  // namespace inferd::engine
