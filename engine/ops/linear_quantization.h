// QuantizeLinear and DequantizeLinear, which ai.onnx and com.microsoft both have.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/tensor/element_type.h"

namespace inferd::engine {

class InferenceContext;
class Kernel;
struct NodeSpec;

inline constexpr ElementTypeSet kQuantizedTypes =
    type_sets::kFloat8s |
    ElementTypeSet{ElementType::kInt8,   ElementType::kUint8, ElementType::kInt16,
                   ElementType::kUint16, ElementType::kInt4,  ElementType::kUint4,
                   ElementType::kInt2,   ElementType::kUint2, ElementType::kFloat4E2M1};

absl::Status InferQuantizeLinear(InferenceContext& context);
absl::StatusOr<std::unique_ptr<Kernel>> QuantizeLinearReference(const NodeSpec& spec);

absl::Status InferDequantizeLinear(InferenceContext& context);
absl::StatusOr<std::unique_ptr<Kernel>> DequantizeLinearReference(const NodeSpec& spec);

}  // namespace inferd::engine
