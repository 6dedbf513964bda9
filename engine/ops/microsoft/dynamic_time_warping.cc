// com.microsoft.DynamicTimeWarping: the cheapest path from the first to the last corner of a cost
// matrix, moving down, right or both at once.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/microsoft/microsoft_ops.h"
#include "engine/ops/op_def.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, 0, 2, 3));
  const SymbolicShape& x = context.shape(0);
  if (x.has_rank() && x.rank() == 3 && x[0].known() && x[0].value() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("input has shape ", x.ToString(), ", expected one matrix"));
  }
  context.SetOutput(0, ElementType::kInt32, SymbolicShape({Dim(2), Dim::Unknown()}));
  return absl::OkStatus();
}

enum class Move : uint8_t { kBoth, kDown, kRight };

// The move into cell (i, j) of the cheapest path there. Among equals right wins.
Move Cheapest(float both, float down, float right) {
  if (both < down && both < right) return Move::kBoth;
  if (down < both && down < right) return Move::kDown;
  return Move::kRight;
}

absl::Status Run(KernelContext& context) {
  const Shape& shape = context.input(0).shape;
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  const float* x = context.input(0).as<float>();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // Costs of the paths to the previous and to this row, a border of infinities first.
  std::vector<float> above(columns + 1, kInfinity), here(columns + 1, kInfinity);
  above[0] = 0;
  std::vector<Move> moves(rows * columns);
  for (int64_t i = 0; i < rows; ++i) {
    here[0] = kInfinity;
    for (int64_t j = 0; j < columns; ++j) {
      const Move move = Cheapest(above[j], above[j + 1], here[j]);
      moves[i * columns + j] = move;
      const float before = move == Move::kBoth   ? above[j]
                           : move == Move::kDown ? above[j + 1]
                                                 : here[j];
      here[j + 1] = before + x[i * columns + j];
    }
    std::swap(above, here);
  }
  std::vector<std::pair<int32_t, int32_t>> path;
  for (int64_t i = rows - 1, j = columns - 1; i >= 0 && j >= 0;) {
    path.emplace_back(static_cast<int32_t>(i), static_cast<int32_t>(j));
    const Move move = moves[i * columns + j];
    if (move != Move::kRight) --i;
    if (move != Move::kDown) --j;
  }
  const auto length = static_cast<int64_t>(path.size());
  ASSIGN_OR_RETURN(const TensorView output, context.AllocateOutput(0, Shape{2, length}));
  int32_t* y = output.as<int32_t>();
  for (int64_t k = 0; k < length; ++k) {
    y[k] = path[length - 1 - k].first;
    y[length + k] = path[length - 1 - k].second;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec&) { return MakeKernel(Run); }

}  // namespace

void RegisterDynamicTimeWarpingOps(OpRegistry& registry) {
  registry.Register({.domain = "com.microsoft",
                     .name = "DynamicTimeWarping",
                     .inputs = {RequiredParameter("input", "", {ElementType::kFloat32})},
                     .outputs = {RequiredParameter("output", "", {ElementType::kInt32})},
                     .infer = Infer,
                     .reference = Reference,
                     .dynamic_outputs = true});
}

}  // namespace inferd::engine
