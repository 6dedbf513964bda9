// RotaryEmbedding: turns pairs of features by an angle that grows with the position.
#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/kernel/kernel.h"
#include "engine/ops/all_ops.h"
#include "engine/ops/attention_shape.h"
#include "engine/ops/elementwise.h"
#include "engine/ops/op_def.h"
#include "engine/ops/rotary.h"
#include "engine/ops/schema.h"
#include "engine/ops/shape_functions.h"
#include "engine/status_macros.h"

namespace inferd::engine {
namespace {

enum Input { kX, kCosines, kSines, kPositions };

absl::Status Infer(InferenceContext& context) {
  RETURN_IF_ERROR(ExpectRank(context, kX, 3, 4));
  context.SetOutput(0, context.input_type(kX));
  const SymbolicShape& x = context.shape(kX);
  if (!x.has_rank()) return absl::OkStatus();

  Dim batch = x[0], rows = x[x.rank() == 3 ? 1 : 2], size;
  if (x.rank() == 3) {
    ASSIGN_OR_RETURN(const int64_t heads, HeadCountAttribute(context.attributes(), "num_heads"));
    ASSIGN_OR_RETURN(size, DivideDim(x[2], heads, "the last dimension of X"));
  } else {
    size = x[3];
  }
  const int64_t rotary = context.attributes().GetInt("rotary_embedding_dim", 0);
  if (rotary < 0 || rotary % 2 != 0 || (size.known() && rotary > size.value())) {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute rotary_embedding_dim is ", rotary,
                     ", expected an even number of at most the head size ", size.ToString()));
  }
  ASSIGN_OR_RETURN(Dim half, DivideDim(rotary != 0 ? Dim(rotary) : size, 2, "the head size"));

  if (context.has_input(kPositions)) {
    RETURN_IF_ERROR(ExpectRank(context, kPositions, 2, 2));
    RETURN_IF_ERROR(MergeInputDim(context, kPositions, 0, "batch size", batch));
    RETURN_IF_ERROR(MergeInputDim(context, kPositions, 1, "sequence length", rows));
  }
  Dim cached;
  for (int i : {kCosines, kSines}) {
    if (context.has_input(kPositions)) {
      RETURN_IF_ERROR(ExpectRank(context, i, 2, 2));
      RETURN_IF_ERROR(MergeInputDim(context, i, 0, "positions", cached));
      RETURN_IF_ERROR(MergeInputDim(context, i, 1, "rotary_embedding_dim / 2", half));
    } else {
      RETURN_IF_ERROR(ExpectRank(context, i, 3, 3));
      RETURN_IF_ERROR(MergeInputDim(context, i, 0, "batch size", batch));
      RETURN_IF_ERROR(MergeInputDim(context, i, 1, "sequence length", rows));
      RETURN_IF_ERROR(MergeInputDim(context, i, 2, "rotary_embedding_dim / 2", half));
    }
  }
  return absl::OkStatus();
}

template <typename T>
std::unique_ptr<Kernel> MakeRotary(const RotaryHeads& heads, int64_t cached_rows) {
  return MakeKernel([heads, cached_rows](KernelContext& context) -> absl::Status {
    const int64_t* positions = nullptr;
    if (context.has_input(kPositions)) {
      positions = context.input(kPositions).as<int64_t>();
      for (int64_t i = 0; i < heads.batch * heads.rows; ++i) {
        if (positions[i] < 0 || positions[i] >= cached_rows) {
          return absl::InvalidArgumentError(
              absl::StrCat("RotaryEmbedding: position_ids holds ", positions[i],
                           ", expected a number in [0, ", cached_rows, ")"));
        }
      }
    }
    RotateHeads(
        heads, context.input(kX).as<T>(), context.input(kCosines).as<T>(),
        context.input(kSines).as<T>(), context.output(0).as<T>(),
        [&](int64_t b, int64_t r) {
          const int64_t i = b * heads.rows + r;
          return positions != nullptr ? positions[i] : i;
        },
        context.threads());
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Kernel>> Reference(const NodeSpec& spec) {
  const Shape& x = spec.input(kX).shape;
  const Shape& cosines = spec.input(kCosines).shape;
  RotaryHeads heads{.batch = x[0], .half = cosines[cosines.rank() - 1]};
  heads.interleaved = spec.attributes().GetInt("interleaved", 0) != 0;
  if (x.rank() == 3) {
    ASSIGN_OR_RETURN(heads.heads, HeadCountAttribute(spec.attributes(), "num_heads"));
    heads.rows = x[1];
    heads.size = x[2] / heads.heads;
    heads.head_stride = heads.size;
    heads.row_stride = x[2];
  } else {
    heads.heads = x[1];
    heads.rows = x[2];
    heads.size = x[3];
    heads.head_stride = x[2] * x[3];
    heads.row_stride = x[3];
  }
  heads.batch_stride = heads.heads * heads.rows * heads.size;
  heads.y_batch_stride = heads.batch_stride;
  heads.y_row_stride = heads.row_stride;
  heads.y_head_stride = heads.head_stride;
  std::unique_ptr<Kernel> kernel;
  if (!DispatchType<float, Float16, BFloat16>(
          spec.input(kX).type, [&]<typename T>() { kernel = MakeRotary<T>(heads, cosines[0]); })) {
    return UnsupportedType(spec, spec.input(kX).type);
  }
  return kernel;
}

}  // namespace

void RegisterRotaryEmbeddingOps(OpRegistry& registry) {
  using Kind = AttributeSpec::Kind;
  constexpr ElementTypeSet kTypes = {ElementType::kFloat32, ElementType::kFloat16,
                                     ElementType::kBfloat16};
  registry.Register(
      {.name = "RotaryEmbedding",
       .version = 23,
       .oldest_version = 23,
       .inputs = {RequiredParameter("X", "T", kTypes), RequiredParameter("cos_cache", "T", kTypes),
                  RequiredParameter("sin_cache", "T", kTypes),
                  OptionalParameter("position_ids", "", {ElementType::kInt64})},
       .outputs = {RequiredParameter("Y", "T", kTypes)},
       .attributes = {{"interleaved", Kind::kInt},
                      {"num_heads", Kind::kInt},
                      {"rotary_embedding_dim", Kind::kInt}},
       .infer = Infer,
       .reference = Reference});
}

}  // namespace inferd::engine
