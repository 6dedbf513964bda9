// QLinearConv, which ai.onnx and com.microsoft both have.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace inferd::engine {

class InferenceContext;
class Kernel;
struct NodeSpec;

// The attribute channels_last, where an operator has it, is 1 for X and Y of [N, spatial..., C].
absl::Status InferQLinearConv(InferenceContext& context);
absl::StatusOr<std::unique_ptr<Kernel>> QLinearConvReference(const NodeSpec& spec);

}  // namespace inferd::engine
