// Tables as the operators of ai.onnx.ml read them: rows of features.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/ir/value_type.h"
#include "engine/tensor/shape.h"

namespace inferd::engine {

class InferenceContext;

inline constexpr ElementTypeSet kTableTypes = {ElementType::kFloat32, ElementType::kFloat64,
                                               ElementType::kInt32, ElementType::kInt64};

struct TableShape {
  int64_t rows = 1;
  int64_t features = 0;
};

// [N,F], or [F] for a single row. INVALID_ARGUMENT for other ranks.
absl::StatusOr<TableShape> AsTable(const Shape& x);
// The number of rows of input 0, as far as known.
absl::StatusOr<Dim> InferRows(const InferenceContext& context);

}  // namespace inferd::engine
