// The passes, one file each. Internal to engine/passes: callers use pass.h.
#pragma once

#include "absl/status/statusor.h"
#include "engine/ir/graph.h"
#include "engine/ops/op_def.h"

namespace inferd::engine {

absl::StatusOr<int> FoldConstants(Graph& graph, const OpRegistry& registry);
// FoldConstants, save that quantized constants stay quantized.
absl::StatusOr<int> FoldAllButDequantize(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseQuantized(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> InlineConstantIf(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> RemoveNoOps(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> EliminateCommonSubexpressions(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseGelu(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseHardSwish(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseHardSigmoid(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseMish(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseSoftplus(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseScaledSwish(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseSwish(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseLayerNormalization(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseRmsNormalization(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseAttention(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> MergeReshapes(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> BatchNormToScaleShift(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> MergeScaleShift(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseScaleIntoConv(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseChannelShuffle(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> ReduceMeanToGlobalPool(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseMatMulBias(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseResidualAdd(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> FuseActivation(Graph& graph, const OpRegistry& registry);
absl::StatusOr<int> RemoveDead(Graph& graph, const OpRegistry& registry);

}  // namespace inferd::engine
