// DepthToSpace and SpaceToDepth: blocks of channels become blocks of pixels and back.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/element_copy.h"
#include "engine/ops/op_def.h"
#include "engine/ops/shape_input.h"
#include "engine/ops/strided_copy.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

absl::StatusOr<int64_t> BlockSize(const Attributes& attributes) {
  const int64_t block = attributes.GetInt("blocksize", 0);
  if (block < 1 || block > 1 << 15) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute blocksize is ", block, ", expected a value in [1, 2^15]"));
  }
  return block;
}

// True for DCR: the block's position is the slow part of the channel number.
absl::StatusOr<bool> BlockFirst(const Attributes& attributes) {
  const std::string mode = attributes.GetString("mode", "DCR");
  if (mode == "DCR") return true;
  if (mode == "CRD") return false;
  return absl::InvalidArgumentError(
      absl::StrCat("attribute mode is \"", mode, "\", expected DCR or CRD"));
}

absl::StatusOr<Dim> Divide(const Dim& dim, int64_t by, const char* what) {
  if (!dim.known()) return Dim::Unknown();
  if (dim.value() % by == 0) return Dim(dim.value() / by);
  return absl::InvalidArgumentError(
      absl::StrCat("the ", what, " ", dim.value(), " does not divide by ", by));
}

absl::StatusOr<Dim> Multiply(const Dim& dim, int64_t by) {
  if (!dim.known()) return Dim::Unknown();
  int64_t product;
  if (__builtin_mul_overflow(dim.value(), by, &product)) {
    return absl::InvalidArgumentError("a dimension overflows");
  }
  return Dim(product);
}

absl::StatusOr<SymbolicShape> OutputShape(const SymbolicShape& x, int64_t block, bool to_space) {
  if (!x.has_rank()) return SymbolicShape::OfRank(4);
  if (x.rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("input has shape ", x.ToString(), ", expected [N,C,H,W]"));
  }
  SymbolicShape y = x;
  if (to_space) {
    ASSIGN_OR_RETURN(y[1], Divide(x[1], block * block, "channel count"));
    ASSIGN_OR_RETURN(y[2], Multiply(x[2], block));
    ASSIGN_OR_RETURN(y[3], Multiply(x[3], block));
  } else {
    ASSIGN_OR_RETURN(y[1], Multiply(x[1], block * block));
    ASSIGN_OR_RETURN(y[2], Divide(x[2], block, "height"));
    ASSIGN_OR_RETURN(y[3], Divide(x[3], block, "width"));
  }
  return y;
}

template <bool kToSpace>
absl::Status Infer(InferenceContext& context) {
  ASSIGN_OR_RETURN(const int64_t block, BlockSize(context.attributes()));
  RETURN_IF_ERROR(BlockFirst(context.attributes()).status());
  ASSIGN_OR_RETURN(SymbolicShape y, OutputShape(context.shape(0), block, kToSpace));
  context.SetOutput(0, context.element_type(0), std::move(y));
  return absl::OkStatus();
}

template <bool kToSpace>
absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  ASSIGN_OR_RETURN(const int64_t b, BlockSize(spec.attributes()));
  ASSIGN_OR_RETURN(const bool block_first, BlockFirst(spec.attributes()));
  ASSIGN_OR_RETURN(const SymbolicShape shape, OutputShape(spec.input(0).shape, b, kToSpace));
  const Shape y = shape.concrete().value();
  RETURN_IF_ERROR(CheckOutputShape(spec, 0, y));
  // Channels split into (block row, block column, c) or (c, block row, block column).
  const Shape& depth = kToSpace ? spec.input(0).shape : y;  // the deep side
  const Shape& space = kToSpace ? y : spec.input(0).shape;  // the wide side
  const int64_t channels = space[1], height = depth[2], width = depth[3];
  const int64_t plane = height * width;
  // Strides in the deep tensor of a block row, a block column and a channel.
  const int64_t row = (block_first ? b * channels : b) * plane;
  const int64_t column = (block_first ? channels : 1) * plane;
  const int64_t channel = (block_first ? 1 : b * b) * plane;
  if (kToSpace) {
    const int64_t dims[] = {depth[0], channels, height, b, width, b};
    const int64_t strides[] = {depth[1] * plane, channel, width, row, 1, column};
    return MakeStridedCopyKernel(spec.input(0).type, {.dims = dims, .strides = strides});
  }
  // The output is the deep tensor in its own order; the wide input is read with strides.
  const int64_t wide_row = width * b;
  const int64_t wide_plane = height * b * wide_row;
  std::vector<int64_t> dims = {depth[0], b, b, channels, height, width};
  std::vector<int64_t> strides = {channels * wide_plane, wide_row, 1, wide_plane, b * wide_row, b};
  if (!block_first) {
    dims = {depth[0], channels, b, b, height, width};
    strides = {channels * wide_plane, wide_plane, wide_row, 1, b * wide_row, b};
  }
  return MakeStridedCopyKernel(spec.input(0).type, {.dims = dims, .strides = strides});
}

}  // namespace

void RegisterDepthToSpaceOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  registry.Register(
      {.name = "DepthToSpace",
       .version = 28,
       .inputs = {{"input", "T", type_sets::kMovable}},
       .outputs = {{"output", "T", type_sets::kMovable}},
       .attributes = {{"blocksize", Kind::kInt, /*required=*/true}, {"mode", Kind::kString}},
       .infer = Infer<true>,
       .reference = Reference<true>});
  registry.Register(
      {.name = "SpaceToDepth",
       .version = 28,
       .inputs = {{"input", "T", type_sets::kMovable}},
       .outputs = {{"output", "T", type_sets::kMovable}},
       .attributes = {{"blocksize", Kind::kInt, /*required=*/true}, {"mode", Kind::kString}},
       .infer = Infer<false>,
       .reference = Reference<false>});
}

}  // namespace inferd::engine
